"""The stand-in device: for learning and testing where there is no GPU.

Host code must not copy the bytes: every way to touch the memory raises an error. Kernels and
copies queue on streams (`stand_in_streams`); `device.traffic` counts the copies and the bytes.

Its arrays behave as CuPy's do. `a + b` and `a *= 2` queue kernels and return at once, and a slice
shares memory. Only `x.to_host()` brings numbers back, because it waits for the device. New memory
is full of NaNs or of -1, so that what was never written does not pass for a result. Bits are the
host's, as the kernels are NumPy's: an answer that differs was carried wrongly.
What to look at: `np.sum(x)`, and the error; then `x.sum().item()`, and `traffic` after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any, NoReturn

import numpy as np

from ddl_runtime.core import arrays
from ddl_runtime.core.element_types import TYPE_NAMES
from ddl_runtime.devices.device import Device
from ddl_runtime.devices.stand_in_streams import (
    Schedule,
    StandInEvent,
    StandInStream,
    Streams,
    Work,
)

POISON = 0xFF  # NaN in floating point, -1 in whole numbers
# What is known of an array without its numbers.
KNOWN = ("shape", "dtype", "ndim", "size", "itemsize", "nbytes")


@dataclass
class HostLinkTraffic:
    """What has crossed the link between host and device so far."""

    copies_to_host: int = 0
    bytes_to_host: int = 0
    copies_to_device: int = 0
    bytes_to_device: int = 0

    def out(self, nbytes: int) -> None:
        self.copies_to_host += 1
        self.bytes_to_host += nbytes

    def into(self, nbytes: int) -> None:
        self.copies_to_device += 1
        self.bytes_to_device += nbytes


def not_for_the_host(what: str, instead: str) -> TypeError:
    """The error of host code that touches the memory of a device."""
    return TypeError(
        f"{what}: this array lives on the stand-in device, and host code cannot read its memory. "
        f"Who copies the bytes? {instead}; or leave it where it is: arithmetic runs on the "
        "device, and send, recv and every collective take the array as it is"
    )


def refused(what: str, instead: str) -> Callable[..., NoReturn]:
    """A method that no array on a device has."""

    def method(*_: Any, **__: Any) -> NoReturn:
        raise not_for_the_host(what, instead)

    return method


class StandIn(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose numbers only its device can read."""

    __slots__ = ("_hidden", "comm_device")

    def __init__(self, device: StandInDevice, hidden: np.ndarray) -> None:
        self.comm_device = device
        self._hidden = hidden

    def memory_of(self, device: StandInDevice) -> np.ndarray:
        """The numbers, for the device's own kernels and copies."""
        if device is not self.comm_device:
            raise ValueError("this array lives on another device: copy it by way of the host")
        return self._hidden

    def __getattr__(self, name: str) -> Any:
        if name in KNOWN:
            return getattr(self._hidden, name)
        raise AttributeError(f"an array on the stand-in device has no {name!r}")

    def __len__(self) -> int:
        return len(self._hidden)

    def __repr__(self) -> str:
        return f"StandIn(shape={self.shape}, dtype={self.dtype}, numbers: on the device)"

    # Views share the memory; kernels are queued.

    def __getitem__(self, part: Any) -> StandIn:
        parts = part if isinstance(part, tuple) else (part,)
        if any(isinstance(each, (list, np.ndarray, StandIn)) for each in parts):
            raise TypeError("the stand-in device takes slices as indices, and no arrays")
        whole = parts if Ellipsis in parts else (*parts, ...)  # so that one element is a view
        return StandIn(self.comm_device, self._hidden[whole])

    def __setitem__(self, part: Any, value: Any) -> None:
        there, here = self._numbers(self[part]), self._numbers(value)
        self.comm_device.launch(lambda: np.copyto(there, here))

    def reshape(self, *shape: Any) -> StandIn:
        """The same memory in another shape."""
        self.comm_device.describe(self)  # what does not lie in one piece would be copied
        return StandIn(self.comm_device, self._hidden.reshape(*shape))

    def new_empty(self, shape: Any, dtype: Any = None) -> StandIn:
        return self.comm_device.empty(shape, dtype or self.dtype)

    def copy(self) -> StandIn:
        return self.astype(self.dtype)

    def astype(self, dtype: Any) -> StandIn:
        out = self.new_empty(self.shape, dtype)
        here, there = self._hidden, self._numbers(out)
        self.comm_device.launch(lambda: np.copyto(there, here, casting="unsafe"))
        return out

    def sum(self, axis: int | None = None) -> StandIn:
        return np.add.reduce(self, axis=axis)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        call, device = getattr(ufunc, method), self.comm_device
        outs = options.pop("out", ())
        numbers = [self._numbers(x) for x in inputs]
        if not outs:
            ones = [np.ones_like(x) if isinstance(x, np.ndarray) else x for x in numbers]
            results = call(*ones, **options)
            alike = results if isinstance(results, tuple) else (results,)
            outs = tuple(device.empty(np.shape(y), np.asarray(y).dtype) for y in alike)
        hidden = tuple(self._numbers(out) for out in outs)
        device.launch(lambda: call(*numbers, out=hidden, **options))
        return outs if len(outs) > 1 else outs[0]

    def _numbers(self, x: Any) -> Any:
        """The argument that a kernel gets for `x`: memory of this device, or `x` if it is a
        number."""
        if isinstance(x, np.ndarray) and x.ndim:
            raise not_for_the_host(
                "together with a host array",
                "Copy the host array to the device first, by device.array(x)",
            )
        return x.memory_of(self.comm_device) if isinstance(x, StandIn) else x

    # Ways to the host: one that waits for the device, and none that does not.

    def to_host(self) -> np.ndarray:
        """Wait until the device has come so far; then a copy in host memory."""
        return self.comm_device.read(self)

    def item(self) -> Any:
        """The array's only number; the host waits until the device has computed it."""
        return self.to_host().item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    __array__ = refused("as a NumPy array", "Ask for a copy, x.to_host()")
    __iter__ = refused("one number after another", "Ask for all at once, x.to_host()")
    __reduce_ex__ = refused("to another process by pickle", "Return a copy, x.to_host()")

    def __array_function__(self, function: Any, *_: Any, **__: Any) -> NoReturn:
        raise not_for_the_host(f"numpy.{function.__name__}", "Ask for a copy, x.to_host()")


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
        """A new array on the device; its numbers mean nothing."""
        memory = np.empty(shape, dtype)
        memory.reshape(-1).view(np.uint8).fill(POISON)
        return StandIn(self, memory)

    def launch(self, kernel: Callable[[], None], looks: float = 0) -> Work:
        """Queue a kernel on the current stream. It ends when `looks` queries have come before."""
        work = Work(kernel, looks=looks)
        self._current.put(work)
        return work

    def hold(self, looks: float = inf) -> Work:
        """A kernel that does nothing and does not end: until `release()`, or `looks` looks."""
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
        self._streams.drain(StandInDevice.record(self, self._current))

    def schedule(self, schedule: Schedule) -> None:
        """Move on in another manner: "late", "early", or by dice with a seed."""
        self._streams.choose(schedule)

    def read(self, x: Any) -> np.ndarray:
        """A copy on the host of what `x` holds once the current stream has come so far."""
        hidden = x.memory_of(self)
        host = np.empty_like(hidden)
        self.launch(lambda: self._carry_out(hidden, host))
        self.synchronise()
        return host

    # -- for the communicator ---------------------------------------------------------------

    def describe(self, x: Any) -> tuple[int, str]:
        nbytes, code = arrays.describe(x.memory_of(self))
        return nbytes, TYPE_NAMES[code]

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
        return StandInEvent(stream, stream.ended + len(stream.open))

    def drain(self, event: StandInEvent) -> None:
        self._streams.drain(event)

    def wait(self, stream: StandInStream, event: StandInEvent) -> None:
        if not event.reached:
            stream.put(Work(lambda: None, after=event))

    def pinned(self, nbytes: int) -> np.ndarray:
        return np.full(nbytes, POISON, np.uint8)

    def to_host(self, x: Any, first: int, host: np.ndarray, stream: StandInStream) -> None:
        part = arrays.as_bytes(x.memory_of(self))[first : first + len(host)]
        stream.put(Work(lambda: self._carry_out(part, host)))

    def to_device(self, host: np.ndarray, x: Any, first: int, stream: StandInStream) -> None:
        part = arrays.as_bytes(x.memory_of(self))[first : first + len(host)]
        stream.put(Work(lambda: self._carry_in(host, part)))

    def _carry_out(self, hidden: np.ndarray, host: np.ndarray) -> None:
        self.traffic.out(hidden.nbytes)
        np.copyto(host, hidden)

    def _carry_in(self, host: np.ndarray, hidden: np.ndarray) -> None:
        self.traffic.into(host.nbytes)
        np.copyto(hidden, host)
