"""The stand-in device with a clock: what kernels and copies cost, in the communicator's time.

    begins   when it is asked for, its stream is free, its events are past, its engine is free
    ends     after `start + n / bandwidth` for a copy of n bytes, after its seconds for a kernel

One engine copies out of the device and one into it, as on GPUs. So two copies in one direction
follow one another, also on two streams. Where the host waits, simulated ranks advance their
virtual clock and real ones sleep.
What to look at: the spans "kernel", "copy out" and "copy in" on the timeline, and which overlap.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ddl_runtime.core.communicator import Comm
from ddl_runtime.devices.device import Array
from ddl_runtime.devices.stand_in import StandIn, StandInDevice
from ddl_runtime.devices.stand_in_streams import StandInEvent, StandInStream


class TimedEvent(NamedTuple):
    """A mark in a stream, and when the stream will have come so far."""

    mark: StandInEvent
    end: float
    clock: Callable[[], float] | None = None

    def done(self) -> bool:
        return (self.clock is None or self.clock() >= self.end) and self.mark.done()


# Twenty and a hundred times slower than PCIe, so that real ranks can sleep through it.
START, BANDWIDTH = 2e-4, 2e8
EVENT = "an event, which gpu.record(stream) makes"


def need(value: object, kind: type, call: str, wanted: str) -> None:
    """Raise `TypeError` if an argument of `call` is of another kind than is wanted there."""
    if not isinstance(value, kind):
        raise TypeError(f"{call} needs {wanted}, and got {type(value).__name__}")


class TimedDevice(StandInDevice):
    """A stand-in whose copies take time: `start` seconds, and one second for each `bandwidth`
    bytes. The clock is that of `comm`.

    With `by_clock` no event is done before its time: for real ranks, whose clock moves by itself
    while it is polled.
    """

    def __init__(
        self, comm: Comm, start: float = START, bandwidth: float = BANDWIDTH, *,
        by_clock: bool = False,
    ) -> None:  # fmt: skip
        super().__init__("late")
        self._clock = comm.now if by_clock else None
        self._comm = comm
        self._start = start
        self._bandwidth = bandwidth
        self._free: dict[StandInStream | str, float] = {}  # when a stream or an engine is

    def array(self, values: object) -> StandIn:
        x = super().array(values)
        super().synchronise()  # it was there before the program began
        return x

    def read(self, x: Array) -> np.ndarray:
        stream, host = self.current_stream(x), self.pinned(x.nbytes)
        self.to_host(x, 0, host, stream)
        self.finish(self.record(stream))
        return host.view(x.dtype).reshape(x.shape)

    def work(self, x: Array, seconds: float) -> None:
        """Queue a kernel that is busy with `x` for so long, and leaves it as it is."""
        self._take("kernel", seconds, self.current_stream(x), x.nbytes)

    def to_host(self, x: Array, first: int, host: np.ndarray, stream: StandInStream) -> None:
        self._copy("copy out", x, host, stream)
        super().to_host(x, first, host, stream)

    def to_device(self, host: np.ndarray, x: Array, first: int, stream: StandInStream) -> None:
        self._copy("copy in", x, host, stream)
        super().to_device(host, x, first, stream)

    def record(self, stream: StandInStream) -> TimedEvent:
        return TimedEvent(super().record(stream), self._free.get(stream, 0.0), self._clock)

    def wait(self, stream: StandInStream, event: TimedEvent) -> None:
        need(event, TimedEvent, "gpu.wait(stream, event)", EVENT)
        super().wait(stream, event.mark)
        self._free[stream] = max(self._free.get(stream, 0.0), event.end)

    def finish(self, event: TimedEvent) -> None:
        """The host waits for an event, and can do nothing else meanwhile."""
        need(event, TimedEvent, "gpu.finish(event)", EVENT)
        with self._comm.span("wait for the device"):
            left = event.end - self._comm.now()
            if left > 0:
                self._comm.work(seconds=left)
        self._streams.drain(event.mark)

    def drain(self, event: TimedEvent) -> None:
        if self._clock is not None:  # the core is free meanwhile: a copy needs no computing
            time.sleep(max(0.0, event.end - self._clock()))
        while not event.done():
            self._streams.drain(event.mark)

    def peek(self, x: Array) -> np.ndarray:
        """What is in the memory of `x` at this moment, whatever is still queued for it: no real
        device can be looked into like this."""
        return x.memory_of(self).copy()

    def _copy(self, kind: str, x: Array, host: np.ndarray, stream: StandInStream) -> None:
        need(x, StandIn, kind, "an array on the device")
        need(host, np.ndarray, kind, "memory of the host, which gpu.pinned(n) makes")
        seconds = self._start + host.nbytes / self._bandwidth
        self._free[kind] = self._take(kind, seconds, stream, host.nbytes)

    def _take(self, kind: str, seconds: float, stream: StandInStream, nbytes: int) -> float:
        """Reserve a stream and, for a copy, its engine; returns when both are free again."""
        free = self._free.get(stream, 0.0), self._free.get(kind, 0.0)
        begin = max(self._comm.now(), *free)
        end = self._free[stream] = begin + seconds
        context = getattr(self._comm, "context", None)  # a rank in the grader's sandbox has none
        if context is not None and context.spans is not None:
            context.spans.append((kind, kind, begin, end, -1, -1, nbytes))
        return end
