"""Strict mode: what works by luck is an error, on simulated ranks and on real ones alike.

    a send          ends when its receive has been asked for, however short the message
    a buffer        stays as it is from `isend` to `wait`, and what a receive writes into belongs
                    to no other message under way
    a receive       that was begun is waited for
    a collective    is the same on all ranks: name, bytes and operation, in the same order

The first is the doing of what sends; the rest stands here. Each rank has a `Watch`, which knows
the messages that it has under way and the collectives that it has begun, on all communicators.
Nothing is sent for it. Collectives are compared when all ranks have returned.
"""

from __future__ import annotations

import sys
import zlib
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ddl_runtime.core.arrays import Array, as_bytes, check_writable, describe, type_name
from ddl_runtime.core.element_types import is_tensor
from ddl_runtime.core.parts import PointToPoint, Request
from ddl_runtime.diagnosis.deadlock import call_text
from ddl_runtime.diagnosis.frames import source_line


class UnsafeBuffer(ValueError):
    """An array was changed, or given to another message, while a message under way had it."""


class NotWaitedFor(ValueError):
    """A program has returned, and a receive that it began has not."""

    inside_program = False  # where it is raised says nothing


class Collective(NamedTuple):
    """What all ranks of a communicator must agree in."""

    name: str
    nbytes: int | None
    op: str | None

    def __str__(self) -> str:
        size = "" if self.nbytes is None else f" of {self.nbytes:,} bytes"
        return f"{self.name}{size}" + ("" if self.op is None else f" ({self.op})")


@dataclass(slots=True)
class CollectiveLog:
    """The collectives of one rank on one communicator, in order; `depth` is how many are open, as
    one may be made of others."""

    members: Hashable  # the ranks of the communicator, and how many of the same were made before
    called: list[Collective] = field(default_factory=list)
    depth: int = 0

    def open(self, name: str, nbytes: int | None, op: object) -> CollectiveLog:
        if not self.depth:
            operation = None if op is None else str(getattr(op, "__name__", op))
            self.called.append(Collective(name, nbytes, operation))
        return self

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


class Watch:
    """What one rank has under way, and the collectives that it has begun."""

    def __init__(self) -> None:
        self.open: dict[StrictRequest, None] = {}
        self.background: list[Request] = []
        self.logs: list[CollectiveLog] = []
        self._made: Counter[Hashable] = Counter()

    def log(self, members: Sequence[int]) -> CollectiveLog:
        """Where the collectives of a new communicator of these ranks are noted."""
        ranks = members if isinstance(members, range) else tuple(members)
        log = CollectiveLog((ranks, self._made[ranks]))
        self._made[ranks] += 1
        self.logs.append(log)
        return log

    def refuse_shared(self, memory: np.ndarray, what: str, *, writes: bool) -> None:
        """Refuse memory of a new message that one under way has, if one of them writes into it."""
        for request in list(self.open):  # functions in the background open others meanwhile
            if request.memory is None or not (writes or request.writes):
                continue
            if np.may_share_memory(memory, request.memory):  # exact, as both are contiguous
                raise UnsafeBuffer(
                    f"{what}: its array shares memory with that of {request.what}, which is still "
                    "under way. Wait for that first, or use another array"
                )

    def conclude(self) -> None:
        """The rank's program has returned: nothing that it has begun may be left."""
        for request in self.background:
            if not request.waited:
                request.wait()
        for request in list(self.open):
            if request.writes:
                raise NotWaitedFor(
                    f"the program has returned, and nobody has waited for {request.what}, begun "
                    f"at {request.begun}. What it receives may come at any time, or never: call "
                    "wait() on what irecv returns"
                )
            request.compare()


class StrictRequest(Request):
    """A message under way, and its memory."""

    __slots__ = ("_digest", "_watch", "begun", "inner", "memory", "waited", "what", "writes")

    def __init__(
        self, watch: Watch, memory: np.ndarray | None, what: str, *, writes: bool
    ) -> None:
        self.inner: Any = None  # the request of whoever carries it out
        self.memory = memory
        self.what = what
        self.writes = writes
        self.waited = False
        self.begun = source_line(sys._getframe()) if writes else ""  # where
        self._watch = watch
        self._digest = None if writes or memory is None else zlib.crc32(memory)

    def wait(self) -> int:
        source: int = self.inner.wait()
        self.close()
        return source

    def close(self) -> None:
        """It has ended: what was sent must be what was given."""
        if not self.waited:
            self.waited = True
            self._watch.open.pop(self, None)
            self.compare()

    def compare(self) -> None:
        if self._digest is not None and zlib.crc32(self.memory) != self._digest:
            raise UnsafeBuffer(
                f"the array of {self.what} was changed before its wait() returned: what has been "
                "sent may be the old values or the new. Wait first, or send a copy"
            )


class StrictMessages:
    """The messages of one rank on one communicator, watched."""

    def __init__(self, messages: PointToPoint, watch: Watch) -> None:
        self._messages = messages
        self._watch = watch

    def isend(self, x: Array, to: int, tag: int = 0) -> Request:
        request = self._request(x, "isend", to, tag)
        request.inner = self._messages.isend(x, to, tag)
        self._watch.open[request] = None
        return request

    def irecv(self, x: Array, source: int, tag: int = 0) -> Request:
        request = self._request(x, "irecv", source, tag)
        request.inner = self._messages.irecv(x, source, tag)
        self._watch.open[request] = None
        return request

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        self._refuse_shared(x, "send", to, tag)
        self._messages.send(x, to, tag)

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        self._refuse_shared(x, "recv", source, tag)
        return self._messages.recv(x, source, tag)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        outgoing = self._refuse_shared(x, "send", to, tag)
        incoming = self._refuse_shared(y, "recv", source, tag)
        both = outgoing is not None and incoming is not None
        if both and np.may_share_memory(outgoing, incoming):
            raise UnsafeBuffer(
                f"sendrecv to {to} and from {source}: the array that is sent and the one that is "
                "received into share memory. Receive into another array"
            )
        return self._messages.sendrecv(x, to, y, source, tag)

    def wait_any(self, requests: list[Any]) -> Any:
        inner = [getattr(request, "inner", request) for request in requests]
        done = self._messages.wait_any(inner)
        chosen = next(mine for mine, its in zip(requests, inner, strict=True) if its is done)
        if isinstance(chosen, StrictRequest):
            chosen.close()
        return chosen

    def _request(self, x: Array, verb: str, peer: int, tag: int) -> StrictRequest:
        memory = self._refuse_shared(x, verb, peer, tag)
        what = call_text(verb, peer, tag, x.nbytes, type_name(x))
        return StrictRequest(self._watch, memory, what, writes=verb == "irecv")

    def _refuse_shared(self, x: Array, verb: str, peer: int, tag: int) -> np.ndarray | None:
        """The memory of a new message, if the host can read it."""
        nbytes, _ = describe(x)  # what cannot be sent at all is refused first
        writes = verb.endswith("recv")
        if writes:
            check_writable(x)
        on_host = x.__class__ is np.ndarray or (is_tensor(x) and x.device.type == "cpu")
        memory = as_bytes(x) if on_host and nbytes else None
        if memory is not None and self._watch.open:
            what = call_text(verb, peer, tag, nbytes, type_name(x))
            self._watch.refuse_shared(memory, what, writes=writes)
        return memory


def disagreement(logs: Sequence[Sequence[CollectiveLog]]) -> str | None:
    """The first collective that two ranks of one communicator, by their logs, have begun
    differently; None if there is none."""
    first: dict[Hashable, tuple[int, list[Collective]]] = {}
    for rank, own in enumerate(logs):
        for log in own:
            other, wanted = first.setdefault(log.members, (rank, log.called))
            if log.called == wanted:
                continue
            for number, pair in enumerate(zip(wanted, log.called, strict=False), start=1):
                if pair[0] != pair[1]:
                    return _differ(number, other, str(pair[0]), rank, str(pair[1]))
            shorter = min(len(wanted), len(log.called))
            names = [
                str(called[shorter]) if len(called) > shorter else "none"
                for called in (wanted, log.called)
            ]
            return _differ(shorter + 1, other, names[0], rank, names[1])
    return None


def _differ(number: int, one: int, its: str, other: int, others: str) -> str:
    return (
        f"All ranks returned, but they did not call the same collectives:\n\n"
        f"  rank {one} called {its}\n  rank {other} called {others}\n\n"
        f"as number {number} on their communicator. What to try: let all ranks call the same "
        "collectives, with as many bytes and the same operation, in the same order."
    )
