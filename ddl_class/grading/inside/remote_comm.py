"""The communicator inside the sandbox: every verb is a question to the grader.

Nothing is decided here. Messages, their matching, the ledger and the clock are the grader's, where
simulated ranks carry out what the ranks in their sandboxes ask for. So a rank that tampers with
this communicator only tampers with its own questions.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from ddl_teach.comm import arrays
from ddl_teach.comm.arrays import (
    TYPE_NAMES,
    Array,
    Operation,
    Phantom,
    as_bytes,
    check_writable,
    describe,
)
from ddl_teach.comm.interface import Comm, Request, not_waited_for
from ddl_teach.comm.ledger import Ledger
from ddl_teach.comm.story import MessageMismatch
from ddl_teach.course.grading.inside.wire import NUMPY_KNOWS, is_tensor, receive_frame, send_frame

MACHINERY = (str(Path(arrays.__file__).parent), str(Path(__file__).parent))
# What the grader may raise here, by name.
ERRORS: dict[str, Callable[[str], Exception]] = {
    "MessageMismatch": MessageMismatch,
    "TypeError": TypeError,
    "ValueError": ValueError,
}


class RemoteRequest(Request):
    """A message under way; the grader knows it by its number."""

    def __init__(self, comm: RemoteComm, number: int, y: Array | None) -> None:
        self._comm = comm
        self._number = number
        self._y = y
        self.waited = False

    def wait(self) -> int:
        if not self.waited:
            self._source = self.take(self._comm._ask("wait", self._number))
        return self._source

    def take(self, answer: tuple) -> int:
        """It is done: keep what came."""
        self.waited = True
        self._source, data = answer
        _keep(data, self._y)
        return self._source


class RemoteComm:
    """A communicator as rank programs know it."""

    def __init__(self, link: socket.socket, number: int, rank: int, size: int, node: int) -> None:
        self.rank = rank
        self.size = size
        self.node = node
        self.attributes: dict[Any, Any] = {}
        self._link = link
        self._number = number

    def __repr__(self) -> str:
        return f"<communicator: rank {self.rank} of {self.size}>"

    def _ask(self, verb: str, *words: Any) -> Any:
        send_frame(self._link, (verb, self._number, source_line(sys._getframe(2)), *words))
        kind, answer = receive_frame(self._link)
        if kind == "done":
            return answer
        raise ERRORS.get(kind, RuntimeError)(answer)

    # -- messages ---------------------------------------------------------------------------

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        self._ask("send", _content(x), to, tag)

    def isend(self, x: Array, to: int, tag: int = 0) -> RemoteRequest:
        return RemoteRequest(self, self._ask("isend", _content(x), to, tag), None)

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        came_from, data = self._ask("recv", *_room(x), source, tag)
        _keep(data, x)
        return came_from

    def irecv(self, x: Array, source: int, tag: int = 0) -> RemoteRequest:
        return RemoteRequest(self, self._ask("irecv", *_room(x), source, tag), x)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        came_from, data = self._ask("sendrecv", _content(x), to, *_room(y), source, tag)
        _keep(data, y)
        return came_from

    def wait_any(self, requests: Sequence[RemoteRequest]) -> int:
        not_waited_for(requests)  # or an error that says what is wrong
        numbers = [None if request.waited else request._number for request in requests]
        index, *answer = self._ask("wait_any", numbers)
        requests[index].take(tuple(answer))
        return index

    # -- time -------------------------------------------------------------------------------

    def now(self) -> float:
        return self._ask("now")

    @property
    def ledger(self) -> Ledger:
        return Ledger(self._ask("ledger"))

    @contextmanager
    def span(self, name: str, kind: str = "span") -> Iterator[None]:
        self._ask("span", str(name), str(kind))
        try:
            yield
        finally:
            self._ask("span_end")

    def work(self, seconds: float = 0.0, flops: float = 0.0) -> None:
        self._ask("work", seconds, flops)

    def combine(self, a: Array, b: Array, out: Array, op: Operation = "sum") -> None:
        if out.__class__ is not Phantom:
            arrays.combine(op, a, b, out)
        self._ask("combine", describe(a)[0])

    # -- groups -----------------------------------------------------------------------------

    def barrier(self) -> None:
        self._ask("barrier")

    def split(self, colour: int | None, key: int = 0) -> RemoteComm | None:
        place = self._ask("split", colour, key)
        return None if place is None else RemoteComm(self._link, *place)

    def background(self, function: Callable[..., Any], *args: Any) -> Request:
        raise NotImplementedError("background functions do not run where exercises are graded")

    def shared_memory(self, nbytes: int) -> Any:
        raise NotImplementedError("ranks share no memory where exercises are graded")

    def window(self, size: int, dtype: Any = None) -> Any:
        raise NotImplementedError("ranks open no windows where exercises are graded")


Comm.register(RemoteComm)


def source_line(frame: FrameType | None) -> str:
    """The learner's line that a call comes from."""
    while frame is not None and frame.f_code.co_filename.startswith(MACHINERY):
        frame = frame.f_back
    if frame is None:
        return ""
    return f"line {frame.f_lineno} of {frame.f_code.co_filename}, in {frame.f_code.co_name}"


def _content(x: Array) -> Array:
    """What is sent of `x`: of a tensor its numbers, so that the grader need not know torch."""
    _, code = describe(x)
    return x.detach().numpy() if is_tensor(x) and TYPE_NAMES[code] in NUMPY_KNOWS else x


def _room(y: Array) -> tuple[int, int]:
    """What the grader must know of the array that is received into."""
    nbytes, code = describe(y)
    check_writable(y)
    return nbytes, code


def _keep(data: Any, y: Array | None) -> None:
    if y is not None and y.__class__ is not Phantom:
        as_bytes(y)[:] = as_bytes(data)
