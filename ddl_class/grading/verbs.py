"""A simulated rank that carries out what a sandboxed rank asks for, verb by verb."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_class.exercises.graded import run_library
from ddl_class.grading.inside.project import may_use
from ddl_class.grading.inside.wire import MESSAGES, Malformed, Written, bringing, elements
from ddl_class.grading.submission import plain
from ddl_runtime.diagnosis.deadlock import MessageMismatch, NoSuchRank
from ddl_runtime.diagnosis.waits import Mismatch
from ddl_teach.comm import Comm, Phantom, Request

MOST_AT_ONCE = 10_000  # requests, spans and communicators of one rank
# Mistakes of the program: raised in it, as any communicator would.
ITS_OWN = (MessageMismatch, NoSuchRank, TypeError, ValueError)
# How many words come with each verb: one that the communicator itself carries out, or a method.
PLAIN = {"now": 0, "work": 3, "barrier": 0}
VERBS = PLAIN | dict.fromkeys(MESSAGES, 6) | {
    "wait": 1, "wait_any": 1, "ledger": 0, "span": 2, "span_end": 0, "combine": 1, "split": 2,
    "library": 3,
}  # fmt: skip

# They only begin something, and a rank asks for the next one without waiting for an answer.
UNANSWERED = frozenset({"isend", "irecv", "work", "combine", "span", "span_end"})


class Excess(Exception):
    """A rank asked for more than any exercise needs."""


@dataclass
class Memory:
    """The bytes that messages of one run may still take in the grader."""

    left: int

    def take(self, x: Any, times: int = 1) -> None:
        """Take the bytes of `x`; a negative number of times gives them back."""
        if x is None or x.__class__ is Phantom:
            return
        self.left -= times * getattr(x, "nbytes", 0)
        if self.left < 0:
            raise Excess("more bytes are under way than an exercise may have; receive them first")


class Verbs:
    """The communicators, requests and spans of one rank."""

    def __init__(self, comm: Comm, memory: Memory, library: Sequence[str] = ()) -> None:
        self.computing = True
        self.mismatch: Mismatch | None = None  # the last one that was raised in the program
        self._verb = ""
        self._where = ""
        self._memory = memory
        self._allowed = library
        self._comms = [comm]
        self._spans: list[contextlib.AbstractContextManager] = []
        self._requests: dict[int, tuple[Request, Any]] = {}
        self._made = 0

    @property
    def where(self) -> str:
        """The line of its program that asked last."""
        return plain(self._where, 200).replace("\n", " ")

    def position(self) -> str:
        place = f"{self._verb} at {self.where}" if self._verb else "its beginning"
        return f"computes since {place}" if self.computing else f"waits in {place}"

    def carry_out(self, request: Any) -> tuple[str, Any] | Written | None:
        """Carry out a request; returns the answer to send, if the rank waits for one."""
        match request:
            case (str(verb), int(number), str(where), *words) if len(words) == VERBS.get(
                verb
            ) and 0 <= number < len(self._comms):
                self._verb, self._where = verb, where
            case _:
                raise Malformed("it asked for an operation that no communicator has")
        if len(self._requests) + len(self._spans) + len(self._comms) > MOST_AT_ONCE:
            raise Excess(f"more than {MOST_AT_ONCE:,} requests, spans or groups at once")
        comm = self._comms[number]
        try:
            if verb in MESSAGES:
                return self._message(comm, verb, *words)
            if verb in PLAIN:
                answer = getattr(comm, verb)(*words)
            else:
                answer = getattr(self, f"_{verb}")(comm, *words)
            done = answer if answer.__class__ is Written else ("done", answer)
            return None if verb in UNANSWERED else done
        except Malformed:
            raise
        except ITS_OWN as error:
            if verb in UNANSWERED:  # its own communicator would have raised it there
                raise Malformed(str(error)) from None
            self.mismatch = getattr(error, "mismatch", None)
            return next(kind.__name__ for kind in ITS_OWN if isinstance(error, kind)), str(error)

    def _message(
        self, comm: Comm, verb: str, x: Any, to: Any, nbytes: Any, code: Any, source: Any, tag: Any
    ) -> Written | None:
        """Send, receive, or both; or begin it."""
        receives, words, y = verb.endswith("recv"), [], None
        if receives:
            if not isinstance(nbytes, int) or not isinstance(code, int):
                raise Malformed("a number of bytes, and a type of elements, are whole numbers")
            y = elements(code, nbytes)
            self._memory.take(y)
            words = [y, source]
        if "send" in verb:
            self._memory.take(x)
            words = [x, to, *words]
        done = getattr(comm, verb)(*words, tag)
        if verb not in UNANSWERED:
            return self._received(done if receives else to, y)
        self._made += 1  # as the rank counts them
        self._requests[self._made] = done, y
        return None

    def _wait(self, comm: Comm, number: Any, place: int = 0) -> Written:
        request, y = self._request(number)
        source = request.wait()
        del self._requests[number]
        return self._received(source, y, place)

    def _wait_any(self, comm: Comm, numbers: Any) -> Written:
        if not isinstance(numbers, list):
            raise Malformed("wait_any without a list")
        # Those waited for before keep their places, so that the index means the same to both.
        places = [place for place, number in enumerate(numbers) if number is not None]
        chosen = comm.wait_any([self._request(numbers[place])[0] for place in places])
        return self._wait(comm, numbers[places[chosen]], places[chosen])

    def _request(self, number: Any) -> tuple[Request, Any]:
        if not isinstance(number, int) or number not in self._requests:
            raise Malformed("it waits for a request that is not under way")
        return self._requests[number]

    def _received(self, source: int, y: Any, place: int = 0) -> Written:
        self._memory.take(y, -2)  # the message and the room for it
        return bringing(source, y, place)

    def _ledger(self, comm: Comm) -> list[tuple]:
        return [tuple(message) for message in comm.ledger.messages]

    def _span(self, comm: Comm, name: Any, kind: Any) -> None:
        self._spans.append(comm.span(str(name), str(kind)))
        self._spans[-1].__enter__()

    def _span_end(self, comm: Comm) -> None:
        if not self._spans:
            raise Malformed("a span ends that has not begun")
        self._spans.pop().__exit__(None, None, None)

    def _combine(self, comm: Comm, nbytes: Any) -> None:
        # The arithmetic was done in the sandbox; only its time is spent here.
        size = Phantom(nbytes)
        comm.combine(size, size, size)

    def _split(self, comm: Comm, colour: Any, key: Any) -> tuple[int, int, int, int] | None:
        group = comm.split(colour, key)
        if group is None:
            return None
        self._comms.append(group)
        return len(self._comms) - 1, group.rank, group.size, group.node

    def _library(self, comm: Comm, path: Any, x: Any, op: Any) -> Written:
        """Run a collective that the exercise allows; only its numbers go into the sandbox."""
        if not (isinstance(path, str) and may_use(path, self._allowed) and isinstance(op, str)):
            raise Malformed("it asks for a function of the library that it may not use")
        if not isinstance(x, np.ndarray | Phantom):
            raise Malformed("an argument of a library function is not an array")
        self._memory.take(x)
        run_library(comm, path, x, op)
        self._memory.take(x, -1)
        return bringing(0, x)
