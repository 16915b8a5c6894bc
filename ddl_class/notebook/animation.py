"""The steps of an all-reduce as a moving picture, made from a real run of it.

    animate(ring.allreduce)                         on 4 simulated ranks
    animate(my_own_allreduce, ranks=8)              a learner's own function, on 8
    animate(my_own_allreduce, run=engines.run)      on the ranks of this notebook
    animate(ring.reduce_scatter, goal="reduce_scatter")

The arrows are the messages of the run's timeline, the bytes those of its ledger, and what fills
the boxes was found in the ranks' vectors. A wrong algorithm is shown as wrong as it is. As in
`check`, simulated ranks are strict, and what is right is run once more, on vectors of another type
which ranks cannot divide evenly: if it is wrong there, that run is shown.

Vectors show which ranks have contributed to them: rank r's holds nothing but B^r, with B a power
of two. Any sum of such vectors is a number whose digits to the base B say how often each rank is
in it, whatever order they were added in and wherever the vector was cut. Float64 has 52 bits for
them: 13 for each of 4 ranks, 3 for each of 16. A witness stands between the program and its
communicator, and notes the digits at each call.

In one step a rank sends one message and receives one. A message belongs to the first step after
all that its sender had sent and received before it, and after what its receiver took before it. So
the steps do not depend on how long messages are under way, and P-1 messages to one rank are P-1
steps, as its one port takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from ddl_class.plots.frame import need
from ddl_class.plots.steps import GOALS, DrawnStep, RecordedSteps, StepMessage, StepPlayer
from ddl_class.ranks import simulate
from ddl_runtime.records.timeline import Arrow
from ddl_teach import Run
from ddl_teach.comm import Comm, Request

MOST_RANKS, MOST_RANKS_TWICE = 16, 8
BITS: dict[Any, int] = {np.float64: 52, np.float32: 24}  # whole numbers of so many are exact

Note = tuple[int, np.ndarray]
"""How many messages a rank had received, and what its vector then held."""


def animate(
    allreduce: Callable[..., Any],
    ranks: int = 4,
    *,
    goal: str = "allreduce",
    chunks: int | None = None,
    run: Callable[..., Run] = simulate,
) -> StepPlayer:
    """Run `allreduce(comm, x)` and show its steps, with buttons to play them one by one.

    `goal` is what it should come to: "allreduce", "reduce_scatter" or "reduce". Each rank's vector
    has so many `chunks` of one number: as many as ranks unless given, and then others. `run` is
    what runs it:
    `simulate`, `launch`, or the `run` of engines.
    """
    need(goal in GOALS, f"goal is one of {', '.join(map(repr, GOALS))}, not {goal!r}")
    few = f"an animation shows 1 to {MOST_RANKS} ranks, not {ranks}"
    need(1 <= ranks <= MOST_RANKS, f"{few}; run.timeline.plot() shows any number")
    need(chunks is None or chunks >= 1, f"a vector has at least 1 chunk, not {chunks}")

    def recorded(dtype: type, count: int) -> RecordedSteps:
        done = run(witness, ranks, allreduce=allreduce, chunks=count, dtype=dtype)
        return RecordedSteps(_name(allreduce), steps_of(done), goal)

    steps = recorded(np.float64, chunks or ranks)
    if chunks is None and ranks <= MOST_RANKS_TWICE and not len(steps.wrong):
        again = recorded(np.float32, 2 * ranks + 1)
        steps = again if len(again.wrong) else steps
    return StepPlayer(steps)


def steps_of(run: Run) -> list[DrawnStep]:
    """The steps of a run of `witness`."""
    messages = [message for message in run.timeline.messages if message.bytes]
    numbers = rounds(messages)
    received: list[list[int]] = [[] for _ in range(run.ranks)]  # the steps of what each received
    for message, number in sorted(zip(messages, numbers, strict=True), key=lambda m: m[0].end):
        received[message.dest].append(number)
    steps = []
    for now in range(max(numbers, default=0) + 1):
        sent = [
            StepMessage(message.source, message.dest, message.bytes)
            for message, number in zip(messages, numbers, strict=True)
            if number == now
        ]
        held = [
            contributions(_held(notes, received[rank], now), run.ranks)
            for rank, notes in enumerate(run.results)
        ]
        steps.append(DrawnStep(tuple(sorted(sent)), np.array(held)))
    return steps


def _held(notes: Sequence[Note], received: Sequence[int], now: int) -> np.ndarray:
    """What a rank's vector held when it had what this step brought, and not yet what came next."""
    so_far = sum(1 for _ in takewhile(lambda number: number <= now, received))
    return [vector for count, vector in notes if count <= so_far][-1]


def _name(allreduce: Callable[..., Any]) -> str:
    """Ours are named after their files, a learner's own as the learner did."""
    function = getattr(allreduce, "func", allreduce)
    name = getattr(function, "__name__", type(function).__name__)
    return function.__module__.split(".")[-1] if name == "allreduce" else name


def rounds(messages: Sequence[Arrow]) -> list[int]:
    """The step of each message; the first is 1."""
    sent_after = [_before_sending(message, messages) for message in messages]
    taken_after = [_before_taking(place, messages) for place in range(len(messages))]
    depths: dict[int, int] = {}
    waiting = sorted(range(len(messages)), key=lambda place: messages[place].start)
    while waiting:
        able = [k for k in waiting if depths.keys() >= sent_after[k]]
        # A rank that takes an early message late may have answered later ones first: then the
        # order in which it was sent counts, which has no circles.
        place = next((k for k in able if depths.keys() >= taken_after[k]), able[0])
        waiting.remove(place)
        causes = (sent_after[place] | taken_after[place]) & depths.keys()
        depths[place] = 1 + max((depths[cause] for cause in causes), default=0)
    return [depths[place] for place in range(len(messages))]


def _before_sending(message: Arrow, messages: Sequence[Arrow]) -> set[int]:
    """What the sender had sent and received, by its own clock, when this message left."""
    sender, now = message.source, message.start
    return {
        place
        for place, other in enumerate(messages)
        if (other.source == sender and other.start < now)
        or (other.dest == sender and other.end <= now)
    }


def _before_taking(place: int, messages: Sequence[Arrow]) -> set[int]:
    """What the receiver had taken before it took this message."""
    message = messages[place]
    return {
        k
        for k, other in enumerate(messages)
        if other.dest == message.dest and (other.end, k) < (message.end, place)
    }


def witness(
    comm: Comm, allreduce: Callable[..., Any], chunks: int, dtype: type = np.float64
) -> list[Note]:
    """Run `allreduce` on vectors of one number a chunk; returns this rank's notes."""
    x: np.ndarray = np.full(chunks, _base(comm.size, dtype) ** comm.rank, dtype)
    notes = Notes(x)
    allreduce(RecordedComm(comm, notes), x)
    notes.take()
    return notes.taken


def contributions(values: np.ndarray, ranks: int) -> np.ndarray:
    """How often each rank is in each number: a row per number, -1 where it is no such sum.

    >>> contributions(np.array([1.0, 1.0 + 2.0**26, 0.5]), ranks=2)
    array([[ 1,  0],
           [ 1,  1],
           [-1, -1]])
    """
    base = _base(ranks, values.dtype.type)
    sums = np.isfinite(values) & (values >= 0) & (values < float(base) ** ranks)
    sums[sums] = values[sums] == np.floor(values[sums])
    whole = np.where(sums, values, 0.0).astype(np.int64)
    digits = whole[:, None] // base ** np.arange(ranks) % base
    return np.where(sums[:, None], digits, -1)


def _base(ranks: int, dtype: type) -> int:
    return 1 << BITS[dtype] // ranks


class Notes:
    """What one rank's vector held, and after how many messages."""

    def __init__(self, x: np.ndarray) -> None:
        self.received = 0
        self.taken: list[Note] = [(0, x.copy())]
        self._x = x

    def take(self) -> None:
        """Note the vector, if it has changed."""
        if not np.array_equal(self._x, self.taken[-1][1], equal_nan=True):
            self.taken.append((self.received, self._x.copy()))

    def arrived(self, y: Any) -> None:
        """A message came into `y`; an empty one brings nothing."""
        self.received += y.nbytes > 0


class RecordedComm:
    """A communicator that takes a note at the beginning of each call."""

    def __init__(self, comm: Comm, notes: Notes) -> None:
        self._comm = comm
        self._notes = notes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._notes.take()
        return getattr(self._comm, name)

    def recv(self, x: Any, source: int, tag: int = 0) -> int:
        self._notes.take()
        source = self._comm.recv(x, source, tag)
        self._notes.arrived(x)
        return source

    def sendrecv(self, x: Any, to: int, y: Any, source: int, tag: int = 0) -> int:
        self._notes.take()
        source = self._comm.sendrecv(x, to, y, source, tag)
        self._notes.arrived(y)
        return source

    def irecv(self, x: Any, source: int, tag: int = 0) -> RecordedRequest:
        self._notes.take()
        return RecordedRequest(self._comm.irecv(x, source, tag), x, self._notes)

    def isend(self, x: Any, to: int, tag: int = 0) -> RecordedRequest:
        self._notes.take()
        return RecordedRequest(self._comm.isend(x, to, tag), np.empty(0), self._notes)

    def wait_any(self, requests: Sequence[RecordedRequest]) -> int:
        self._notes.take()
        place = self._comm.wait_any([request.inner for request in requests])
        self._notes.arrived(requests[place].y)
        return place

    def split(self, colour: int | None, key: int = 0) -> RecordedComm | None:
        group = self._comm.split(colour, key)
        return None if group is None else RecordedComm(group, self._notes)


class RecordedRequest(Request):
    """A request that takes a note when it is waited for."""

    def __init__(self, inner: Request, y: Any, notes: Notes) -> None:
        self.inner = inner
        self.y = y
        self._notes = notes

    @property
    def waited(self) -> bool:
        return self.inner.waited

    def wait(self) -> int:
        self._notes.take()
        first = not self.inner.waited
        source = self.inner.wait()
        if first:
            self._notes.arrived(self.y)
        return source
