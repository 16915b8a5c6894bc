"""Devices: memory that host code cannot read, and what a transfer needs to know of it.

Kernels write an array *on a device*, and both kernels and copies are only *queued* when they are
called: on a stream, whose commands run one after another, later. Bytes that leave too early are
old bytes. What orders two streams is an event: a mark in one that the other waits for, or that the
host asks about. Every method here returns at once; only `Event.done` says that something happened.

Cost of a copy of n bytes between host and device: start + n / bandwidth, on a link (PCIe) that is
slower than the device's own memory by two orders of magnitude; from ordinary memory at about half
the bandwidth, and never behind the host's back, because only *pinned* pages stay where they are.
NVIDIA, "CUDA C++ programming guide", section on asynchronous concurrent execution.
"""

import os
from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from ddl_runtime.devices.choice import Table

Array = Any
Stream = Any  # a device's own; only the device that made it knows what it is


class Event(Protocol):
    """A mark in a stream."""

    def done(self) -> bool:
        """Whether everything queued before the mark has run. Never waits."""


class Device(ABC):
    """One accelerator, as far as the transfer of messages needs it. An array class of your own
    travels when its instances carry their device as `comm_device`."""

    name: str  # as in "cuda:0"
    direct: bool = False  # whether the MPI library reads this memory by itself

    @property
    def table(self) -> Table | None:
        """The measured table of ways for its messages (`choice`); None if nothing was measured."""
        return None

    # -- arrays -----------------------------------------------------------------------------

    @abstractmethod
    def describe(self, x: Array) -> tuple[int, str]:
        """`(nbytes, name of the element type)`, or a TypeError that says what to send instead.
        The names are those of `element_types.TYPE_NAMES`; the elements lie one after another."""

    def flat(self, x: Array) -> Array:
        """`x` as one row of elements that shares its memory; slices of it do so too."""
        return x.reshape(-1)

    @abstractmethod
    def empty_like(self, x: Array) -> Array:
        """Room for another `x` on this device."""

    @abstractmethod
    def combine(self, op: str, a: Array, b: Array, out: Array) -> None:
        """Queue the kernel `out = a op b` (sum, max, min, product) on the current stream."""

    @abstractmethod
    def copy(self, target: Array, source: Array) -> None:
        """Queue a copy from one array of this device to another, on the current stream."""

    @abstractmethod
    def address(self, x: Array) -> int:
        """Where `x` begins in the device's memory, for a library that reads it by itself."""

    # -- streams ----------------------------------------------------------------------------

    @abstractmethod
    def current_stream(self, x: Array) -> Stream:
        """The stream on which the caller's kernels that read and write `x` are queued."""

    @abstractmethod
    def new_stream(self) -> Stream:
        """Another one, whose commands run beside those of all others."""

    @abstractmethod
    def record(self, stream: Stream) -> Event:
        """Leave a mark behind what is queued there by now."""

    def drain(self, event: Event) -> None:
        """Let the host wait for a mark, for want of anything better to do."""
        while not event.done():
            os.sched_yield()

    @abstractmethod
    def wait(self, stream: Stream, event: Event) -> None:
        """What is queued on `stream` from now on runs after the mark; the host goes on."""

    # -- copies -----------------------------------------------------------------------------

    @abstractmethod
    def pinned(self, nbytes: int) -> np.ndarray:
        """New host memory that copies can reach behind the host's back."""

    @abstractmethod
    def to_host(self, x: Array, first: int, host: np.ndarray, stream: Stream) -> None:
        """Queue a copy of the bytes of `x` from byte `first` on, as many as `host` holds."""

    @abstractmethod
    def to_device(self, host: np.ndarray, x: Array, first: int, stream: Stream) -> None:
        """Queue a copy of all of `host` over the bytes of `x` from byte `first` on."""
