"""Streams in virtual time, in place of `torch.cpu`'s empty ones: FSDP2 asks for them.

What a stream beside the main one waits for, it notes, as a stream of a GPU does; the rank goes
on. The rank itself waits when the main stream is told to wait, or when an operation needs what is
still to come (`before_reading`): operations on every stream run at once here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import torch

from ddl_runtime.core.running import running_comm


class Awaited(Protocol):
    """What a stream waits for: a collective under way."""

    storages: set[int]
    request: Any  # None when it has been waited for

    def finish(self) -> None: ...


class VirtualStream:
    """A queue of a device's: here, the collectives that it waits for."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.pending: list[Awaited] = []

    def wait_for(self, works: Iterable[Awaited]) -> None:
        """Nothing on this stream may begin before these are done."""
        for work in list(works):
            if self is _streams()["main"]:
                work.finish()
            elif work.request is not None:
                self.pending.append(work)

    def wait_stream(self, stream: VirtualStream) -> None:
        """Nor before what that stream waits for now."""
        self.wait_for(stream.pending)

    def wait_event(self, event: VirtualEvent | None) -> None:
        """Nor before what a stream waited for then."""
        self.wait_for(event.works if event is not None else ())

    def record_event(self, event: Any = None) -> VirtualEvent:
        """What it waits for now."""
        return VirtualEvent(self.pending)

    def synchronize(self) -> None:
        """Let the rank wait for it."""
        VirtualEvent(self.pending).synchronize()


class VirtualEvent:
    """A point in a stream: the collectives that it waited for there."""

    def __init__(self, works: Sequence[Awaited] = ()) -> None:
        self.works = list(works)

    def record(self, stream: VirtualStream | None = None) -> None:
        """This point is now."""
        self.works = list((stream or current_stream()).pending)

    def wait(self, stream: VirtualStream | None = None) -> None:
        """Let a stream wait for this point."""
        (stream or current_stream()).wait_event(self)

    def synchronize(self) -> None:
        """Let the rank wait for this point."""
        for work in self.works:
            work.finish()

    def query(self) -> bool:
        """True, after a wait: a program that asks in a loop would ask for ever."""
        self.synchronize()
        return True


class UseStream:
    """`with UseStream(stream):` what is called inside belongs to that stream."""

    def __init__(self, stream: VirtualStream | None) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        self._before = current_stream()
        _streams()["current"] = self._stream or self._before

    def __exit__(self, *_: object) -> None:
        _streams()["current"] = self._before


_outside: dict[str, Any] = {}  # where no rank's program runs


def _streams() -> dict[str, Any]:
    comm = running_comm()
    own = _outside if comm is None else comm.attributes.setdefault(VirtualStream, {})
    if not own:
        own["main"] = own["current"] = VirtualStream()
        own["beside"] = 0
    return own


def current_stream(device: Any = None) -> VirtualStream:
    """The stream that is in use on this rank."""
    stream: VirtualStream = _streams()["current"]
    return stream


def side_stream() -> VirtualStream | None:
    """The stream in use, if it is not the main one and a `guard` is on; else None."""
    streams = _streams()
    beside = streams["beside"] and streams["current"] is not streams["main"]
    return streams["current"] if beside else None


def guard(begin: bool) -> None:
    """Begin or end a guard: while one is on, each operation calls `before_reading`."""
    _streams()["beside"] += 1 if begin else -1


def before_reading(tensors: Iterable[torch.Tensor]) -> None:
    """An operation on these: let the rank wait for what writes into them."""
    stream = side_stream()
    if stream is not None and stream.pending:
        touched = storages(tensors)
        for work in list(stream.pending):
            if work.storages & touched:
                work.finish()
        stream.pending[:] = [work for work in stream.pending if work.request is not None]


def storages(tensors: Iterable[torch.Tensor]) -> set[int]:
    """What tells the memory of tensors apart."""
    plain = (tensor for tensor in tensors if tensor.layout is torch.strided)
    return {tensor.untyped_storage().data_ptr() for tensor in plain}


def install() -> None:
    """In place of `torch.cpu`'s streams, which do nothing."""
    for name, ours in (
        ("Stream", VirtualStream),
        ("Event", VirtualEvent),
        ("stream", UseStream),
        ("current_stream", current_stream),
    ):
        setattr(torch.cpu, name, ours)
