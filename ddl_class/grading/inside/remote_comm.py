"""The communicator inside the sandbox: every verb is a request to the grader. A verb that only
begins something waits for no answer, and goes with the next request that does.

Messages, their matching, the ledger and the clock are kept in the grader, by simulated ranks. A
rank that changes this communicator only changes its own requests.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from ddl_class.grading.inside.project import CLOSED_VERBS, refuse_verb
from ddl_class.grading.inside.wire import (
    NUMPY_KNOWS,
    FrameSocket,
    asking,
    receive_frame,
    send_frame,
)
from ddl_runtime.core import arrays
from ddl_runtime.core.arrays import Array, Operation, Phantom
from ddl_runtime.core.checks import check_peer, check_work
from ddl_runtime.core.communicator import Comm
from ddl_runtime.core.element_types import is_tensor
from ddl_runtime.core.memory import NOT_COUNTED, Held, check_hold
from ddl_runtime.core.parts import Request, not_waited_for
from ddl_runtime.core.strict import StrictMessages
from ddl_runtime.core.unknown_verbs import unknown_verb
from ddl_runtime.core.watch import Watch
from ddl_runtime.diagnosis.deadlock import MessageMismatch, NoSuchRank
from ddl_runtime.records.ledger import Ledger

MACHINERY = (str(Path(arrays.__file__).parents[1]), str(Path(__file__).parent))
# What the grader may raise here, by name.
ERRORS = {kind.__name__: kind for kind in (MessageMismatch, NoSuchRank, TypeError, ValueError)}


class RemoteRequest(Request):
    """A message under way; the grader knows it by its number."""

    def __init__(self, messages: RemoteMessages, number: int, y: Array | None) -> None:
        self._messages = messages
        self.number = number
        self._y = y
        self.waited = False

    def wait(self) -> int:
        return self._source if self.waited else self.take(self._messages.ask("wait", self.number))

    def take(self, answer: Sequence[Any]) -> int:
        """It is done: keep what came."""
        self.waited = True
        self._source = _received(answer, self._y)
        return self._source


class RemoteMessages:
    """The messages of one rank on one communicator."""

    def __init__(self, link: FrameSocket, number: int, size: int, requests: Iterator[int]) -> None:
        self._link = link
        self._number = number
        self._size = size
        self._requests = requests  # the numbers of those to come, on any communicator

    def ask(self, verb: str, *words: Any) -> Any:
        self.begin(verb, *words, with_next=False)
        return _answer(self._link)

    def begin(self, verb: str, *words: Any, with_next: bool = True) -> None:
        """Ask for what needs no answer, as this rank knows whether it can be done."""
        line = source_line(inspect.currentframe())
        self._put((verb, self._number, line, *words), with_next)

    def _put(self, request: Any, with_next: bool) -> None:
        send_frame(self._link, request, with_next=with_next)
        if with_next and not self._link.kept:
            self.ask("now")  # many bytes have gone: the grader looks first whether it has room

    def _message(
        self, verb: str, x: Array | None, to: int, y: Array | None, source: int, tag: int
    ) -> int:
        """The rank that it came from; or the number of a message that only begins."""
        if x is not None:
            to, tag = check_peer(to, tag, verb if y is None else "sendrecv to", self._size)
        if y is not None:
            source, tag = check_peer(source, tag, verb, self._size)
        where, begins = source_line(inspect.currentframe()), verb in ("isend", "irecv")
        self._put(asking(verb, self._number, where, x, to, y, source, tag), begins)
        return next(self._requests) if begins else _received(_answer(self._link), y)

    def send(self, x: Array, to: int, tag: int = 0) -> None:
        self._message("send", x, to, None, 0, tag)

    def isend(self, x: Array, to: int, tag: int = 0) -> RemoteRequest:
        return RemoteRequest(self, self._message("isend", x, to, None, 0, tag), None)

    def recv(self, x: Array, source: int, tag: int = 0) -> int:
        return self._message("recv", None, 0, x, source, tag)

    def irecv(self, x: Array, source: int, tag: int = 0) -> RemoteRequest:
        return RemoteRequest(self, self._message("irecv", None, 0, x, source, tag), x)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        return self._message("sendrecv", x, to, y, source, tag)

    def wait_any(self, requests: list[RemoteRequest]) -> RemoteRequest:
        answer = self.ask("wait_any", [request.number for request in requests])
        requests[answer[0]].take(answer)
        return requests[answer[0]]


class RemoteComm:
    """The communicator of a rank program in the sandbox."""

    def __init__(
        self, link: FrameSocket, watch: Watch, requests: Iterator[int],
        number: int, rank: int, size: int, node: int,
    ) -> None:  # fmt: skip
        self.rank = rank
        self.size = size
        self.node = node
        self.attributes: dict[Any, Any] = {}
        self._link = link
        self._of_all_groups = watch, requests
        self._grader = RemoteMessages(link, number, size, requests)
        self._messages = messages = StrictMessages(self._grader, watch)
        self.send, self.isend, self.sendrecv = messages.send, messages.isend, messages.sendrecv
        self.recv, self.irecv = messages.recv, messages.irecv

    def __repr__(self) -> str:
        return f"<communicator: rank {self.rank} of {self.size}>"

    def wait_any(self, requests: Sequence[Request]) -> int:
        chosen = self._messages.wait_any(not_waited_for(requests))
        return next(i for i, request in enumerate(requests) if request is chosen)

    def now(self) -> float:
        return self._grader.ask("now")

    @property
    def ledger(self) -> Ledger:
        return Ledger(self._grader.ask("ledger"))

    @contextmanager
    def span(self, name: str, kind: str = "span") -> Iterator[None]:
        self._grader.begin("span", str(name), str(kind))
        try:
            yield
        finally:
            self._grader.begin("span_end")

    def collective(self, *_: Any) -> AbstractContextManager[None]:
        """The grader compares nothing here: what ranks say of themselves proves nothing."""
        return nullcontext()

    counts_memory, device = False, "cpu"

    def hold(self, nbytes: int, what: str) -> Held:
        """Nothing is counted here."""
        check_hold(nbytes, what)
        return NOT_COUNTED

    def work(self, seconds: float = 0.0, flops: float = 0.0, nbytes: float = 0.0) -> None:
        check_work(seconds, flops, nbytes)
        self._grader.begin("work", seconds, flops, nbytes)

    def combine(self, a: Array, b: Array, out: Array, op: Operation = "sum") -> None:
        if out.__class__ is not Phantom:
            arrays.combine(op, a, b, out)
        self._grader.begin("combine", arrays.describe(a)[0])

    def barrier(self) -> None:
        self._grader.ask("barrier")

    def split(self, colour: int | None, key: int = 0) -> RemoteComm | None:
        place = self._grader.ask("split", colour, key)
        return None if place is None else RemoteComm(self._link, *self._of_all_groups, *place)

    def library(self, path: str, x: Array, op: Operation = "sum") -> Array | None:
        """The grader's rank runs this function of the library on `x`."""
        arrays.check_writable(x)
        if not isinstance(op, str):
            raise TypeError('here op must be a name, "sum", "max", "min" or "product"')
        # Always an array: the grader need not have imported torch.
        known = is_tensor(x) and arrays.type_name(x) in NUMPY_KNOWS
        content = x.detach().numpy() if known else x
        _received(self._grader.ask("library", path, content, op), x)
        part = path.endswith("reduce_scatter")
        return arrays.split_evenly(x, self.size)[self.rank] if part else None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in CLOSED_VERBS:
            raise AttributeError(unknown_verb(name, [*vars(self), *dir(type(self))]))
        return partial(refuse_verb, name)


Comm.register(RemoteComm)


def call_back(link: FrameSocket, number: int, *arguments: Any) -> Any:
    """Let the grader call a function that it gave as an argument."""
    send_frame(link, ("call back", number, arguments))
    return _answer(link)


def _answer(link: FrameSocket) -> Any:
    kind, answer = receive_frame(link)
    if kind == "done":
        return answer
    raise ERRORS.get(kind, RuntimeError)(answer)


def source_line(frame: FrameType | None) -> str:
    """The learner's line that a call comes from."""
    while frame is not None and frame.f_code.co_filename.startswith(MACHINERY):
        frame = frame.f_back
    if frame is None:
        return ""
    return f"line {frame.f_lineno} of {frame.f_code.co_filename}, in {frame.f_code.co_name}"


def _received(answer: Sequence[Any], y: Array | None) -> int:
    """Put the bytes that came into the array that waits for them; returns their sender."""
    _, source, data = answer
    if data:
        arrays.as_bytes(y).data[:] = data
    return source
