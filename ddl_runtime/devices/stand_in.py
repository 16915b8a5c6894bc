"""The stand-in device: for learning and testing where there is no GPU.

    who copies the bytes?     host code must not: every way to touch the memory raises an error
    when?                     later: kernels and copies queue on streams (`stand_in_streams`)
    how many?                 `device.traffic` counts the copies and the bytes, each way

Its arrays behave as CuPy's do. `a + b` and `a *= 2` queue kernels and return at once, a slice
shares memory, and only `x.to_host()` brings numbers back, because it waits for the device. New
memory is full of NaNs or of -1, so that what was never written does not pass for a result.
Bits are the host's, as the kernels are NumPy's: an answer that differs was carried wrongly.
What to look at: `np.sum(x)`, and the error; then `x.sum().item()`, and `traffic` after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ddl_runtime.core import arrays
from ddl_runtime.core.element_types import TYPE_NAMES
from ddl_runtime.devices.device import Device
from ddl_runtime.devices.stand_in_array import StandIn
from ddl_runtime.devices.stand_in_streams import (
    Schedule,
    StandInEvent,
    StandInStream,
    Streams,
    Work,
)

POISON = 0xFF  # NaN in floating point, -1 in whole numbers


@dataclass
class HostLinkTraffic:
    """What has crossed the link between host and device so far."""

    copies_to_host: int = 0
    bytes_to_host: int = 0
    copies_to_device: int = 0
    bytes_to_device: int = 0


class StandInDevice(Device):
    """A device in this process's memory, which it keeps to itself."""

    name = "stand-in"

    def __init__(self, schedule: Schedule = "late") -> None:
        self.traffic = HostLinkTraffic()
        self._streams = Streams(schedule)
        self._current = StandInStream(self._streams)

    # -- for programs -----------------------------------------------------------------------

    def array(self, values: Any) -> StandIn:
        """A copy on the device of what a NumPy array or a list holds."""
        host = np.array(values)
        x = self.empty(host.shape, host.dtype)
        self.launch(lambda: self._carry_in(host, x.memory_of(self)))
        return x

    def empty(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> StandIn:
        """Room for an array on the device; what is in it means nothing."""
        memory = np.empty(shape, dtype)
        memory.reshape(-1).view(np.uint8).fill(POISON)
        return StandIn(self, memory)

    def launch(self, kernel: Callable[[], None], looks: float = 0) -> Work:
        """Queue a kernel on the current stream; a slow one is looked at so many times before."""
        work = Work(kernel, looks=looks)
        self._current.put(work)
        return work

    def hold(self, looks: float = inf) -> Work:
        """A kernel that does nothing and does not end: until `release()`, or so many looks."""
        return self.launch(lambda: None, looks)

    @contextmanager
    def stream(self, stream: StandInStream) -> Iterator[None]:
        """Inside, `stream` is the current one."""
        outer, self._current = self._current, stream
        try:
            yield
        finally:
            self._current = outer

    def synchronise(self) -> None:
        """Wait until all is done that was asked for on the current stream."""
        self._streams.drain(self._current.record())

    def schedule(self, schedule: Schedule) -> None:
        """Move on in another manner: "late", "early", or by dice with a seed."""
        self._streams.choose(schedule)

    def read(self, x: Any) -> np.ndarray:
        """A copy on the host of what `x` holds once the current stream has come so far."""
        hidden = x.memory_of(self)
        host: list[np.ndarray] = []
        self.launch(lambda: host.append(self._carried_out(hidden)))
        self.synchronise()
        return host[0]

    # -- for the communicator ---------------------------------------------------------------

    def describe(self, x: Any) -> tuple[int, str]:
        nbytes, code = arrays.describe(x.memory_of(self))
        return nbytes, TYPE_NAMES[code]

    def flat(self, x: Any) -> Any:
        return x.reshape(-1)

    def empty_like(self, x: Any) -> Any:
        return x.new_empty(x.shape)

    def combine(self, op: str, a: Any, b: Any, out: Any) -> None:
        hidden = [x.memory_of(self) for x in (a, b, out)]
        self.launch(lambda: arrays.combine(op, *hidden))

    def copy(self, target: Any, source: Any) -> None:
        there, here = target.memory_of(self), source.memory_of(self)
        self.launch(lambda: arrays.copy_into(there, here))

    def address(self, x: Any) -> int:
        return arrays.as_bytes(x.memory_of(self)).ctypes.data

    def current_stream(self, x: Any) -> StandInStream:
        return self._current

    def new_stream(self) -> StandInStream:
        return StandInStream(self._streams)

    def record(self, stream: StandInStream) -> StandInEvent:
        return stream.record()

    def drain(self, event: StandInEvent) -> None:
        self._streams.drain(event)

    def wait(self, stream: StandInStream, event: StandInEvent) -> None:
        stream.wait(event)

    def pinned(self, nbytes: int) -> np.ndarray:
        return np.full(nbytes, POISON, np.uint8)

    def to_host(self, x: Any, first: int, host: np.ndarray, stream: StandInStream) -> None:
        part = arrays.as_bytes(x.memory_of(self))[first : first + len(host)]
        stream.put(Work(lambda: np.copyto(host, self._carried_out(part))))

    def to_device(self, host: np.ndarray, x: Any, first: int, stream: StandInStream) -> None:
        part = arrays.as_bytes(x.memory_of(self))[first : first + len(host)]
        stream.put(Work(lambda: self._carry_in(host, part)))

    def _carried_out(self, hidden: np.ndarray) -> np.ndarray:
        self.traffic.copies_to_host += 1
        self.traffic.bytes_to_host += hidden.nbytes
        return hidden.copy()

    def _carry_in(self, host: np.ndarray, hidden: np.ndarray) -> None:
        self.traffic.copies_to_device += 1
        self.traffic.bytes_to_device += host.nbytes
        np.copyto(hidden, host)
