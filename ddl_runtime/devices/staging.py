"""Staging: the pinned memory of a rank, and the copies between it and the arrays on devices.

    device  --copy out-->  pinned memory  --message-->  pinned memory  --copy in-->  device

Copies run on streams of their own, beside the program's kernels, and are tied to these by events
alone: a copy out begins after everything that the program's stream had queued when the message was
sent. A copy in begins after everything queued when its receive was begun. Else the one would carry
away what a kernel has not written yet, and the other overwrite what a kernel still reads. Pinning
is slow (the system must fix every page), so what was pinned once is kept and lent again.
"""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_runtime.devices.device import Array, Device, Event, Stream

DEPTH = 4  # chunks of one message that are in pinned memory at a time
SMALLEST = 4096  # bytes of the smallest piece of pinned memory
MOST_KEPT = 8  # pieces of one size that are kept for later messages


@dataclass(eq=False)
class Staging:
    """What MPI sees of an array on a device: as many bytes of host memory, and their type."""

    nbytes: int
    code: int
    memory: Any


class Copies:
    """The copies of one rank: pinned memory and streams, lent to one message after another."""

    def __init__(self) -> None:
        self._pinned: dict[tuple[Device, int], list[np.ndarray]] = {}
        self._streams: dict[Device, list[Stream]] = {}

    def borrow(self, device: Device, nbytes: int) -> np.ndarray:
        """Pinned memory of at least `nbytes` bytes."""
        size = max(SMALLEST, 1 << (nbytes - 1).bit_length())
        with contextlib.suppress(IndexError):  # also when a function in the background was faster
            return self._pinned.setdefault((device, size), []).pop()
        return device.pinned(size)

    def give_back(self, device: Device, pinned: np.ndarray) -> None:
        kept = self._pinned[device, len(pinned)]
        if len(kept) < MOST_KEPT:
            kept.append(pinned)

    def stream(self, device: Device, after: Event) -> Stream:
        """A stream whose copies run after that mark."""
        try:
            stream = self._streams.setdefault(device, []).pop()
        except IndexError:
            stream = device.new_stream()
        device.wait(stream, after)
        return stream

    def done_with(self, device: Device, stream: Stream) -> None:
        self._streams[device].append(stream)


def marked(device: Device, x: Array) -> Event:
    """A mark behind all kernels that the program has queued by now and that may use `x`."""
    return device.record(device.current_stream(x))


def fetched(device: Device, x: Array) -> np.ndarray:
    """The bytes of `x` in host memory, once the program's kernels have written them."""
    host, stream = device.pinned(device.describe(x)[0]), device.current_stream(x)
    device.to_host(x, 0, host, stream)
    device.drain(device.record(stream))
    return host


def stored(device: Device, x: Array, host: np.ndarray) -> None:
    """Bring these bytes into `x`, and wait until they are there."""
    pinned, stream = device.pinned(len(host)), device.current_stream(x)
    pinned[:] = host
    device.to_device(pinned, x, 0, stream)
    device.drain(device.record(stream))


def in_chunks(nbytes: int, chunk: int) -> Iterator[tuple[int, int]]:
    """Where each chunk begins, and its bytes: all alike but for the last, which may be smaller."""
    for first in range(0, nbytes, chunk):
        yield first, min(chunk, nbytes - first)


class CopyIn:
    """The way of a message's bytes into an array on a device, chunk by chunk as they come."""

    def __init__(
        self, copies: Copies, device: Device, x: Array, after: Event,
        note: Callable[[str, float, int], None],
    ) -> None:  # fmt: skip
        self._copies = copies
        self._device = device
        self._x = x
        self._stream = copies.stream(device, after)
        self._expected: deque[np.ndarray] = deque()  # pinned memory that chunks will come into
        self._under_way: deque[tuple[Event, np.ndarray, float, int]] = deque()  # ... copied from
        self._note = note

    def room(self, first: int, nbytes: int) -> np.ndarray | None:
        """Pinned memory for the next chunk; None while too much of it is still in use."""
        self._take_back()
        if len(self._expected) + len(self._under_way) == DEPTH:
            return None
        self._expected.append(self._copies.borrow(self._device, nbytes))
        return self._expected[-1][:nbytes]

    def came_whole(self, pinned: np.ndarray, nbytes: int) -> None:
        """Copy all bytes in from `pinned`, the memory of another array."""
        self._expected.append(pinned)
        self.came(0, nbytes)

    def came(self, first: int, nbytes: int) -> None:
        """Copy in the bytes from `first` on, which have arrived in the memory that `room` gave for
        them."""
        pinned = self._expected.popleft()
        self._device.to_device(pinned[:nbytes], self._x, first, self._stream)
        copied = self._device.record(self._stream)
        self._under_way.append((copied, pinned, time.perf_counter(), nbytes))

    def settled(self) -> bool:
        """Whether all that came is in the array."""
        self._take_back()
        return not self._under_way

    def close(self) -> None:
        self._copies.done_with(self._device, self._stream)

    def _take_back(self) -> None:
        while self._under_way and self._under_way[0][0].done():
            _, pinned, begun, nbytes = self._under_way.popleft()
            self._copies.give_back(self._device, pinned)
            self._note("copy in", begun, nbytes)


class Landing(Staging):
    """The place where a message for an array on a device arrives. Its sender chooses: the whole
    message comes into this memory, or only its head, and the rest chunk by chunk into the
    array."""

    def __init__(
        self, nbytes: int, code: int, memory: Any, copies: Copies, device: Device, x: Array,
        after: Event, note: Callable[[str, float, int], None],
    ) -> None:  # fmt: skip
        super().__init__(nbytes, code, memory)
        self.copy_in: CopyIn | None = None
        self._parts = copies, device, x, after, note

    def place(self) -> CopyIn:
        if self.copy_in is None:
            self.copy_in = CopyIn(*self._parts)
        return self.copy_in

    def copying(self) -> bool:
        """Whether chunks are on their way into the array."""
        return self.copy_in is not None and not self.copy_in.settled()

    def head(self, nbytes: int) -> np.ndarray:
        """A copy of the first bytes of this memory."""
        if isinstance(self.memory, np.ndarray):
            return self.memory[:nbytes].copy()
        # The library has written them into the device's memory.
        copies, device, x, after, _ = self._parts
        pinned, stream = copies.borrow(device, nbytes), copies.stream(device, after)
        device.to_host(x, 0, pinned[:nbytes], stream)
        device.drain(device.record(stream))
        head = pinned[:nbytes].copy()
        copies.give_back(device, pinned)
        copies.done_with(device, stream)
        return head
