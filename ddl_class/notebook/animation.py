"""The steps of an all-reduce as a moving picture, made from a real run of it.

    animate(ring.allreduce)                         on 4 simulated ranks
    animate(my_own_allreduce, ranks=8)              a learner's own function, on 8
    animate(simulate(program, 4))                   the messages of any run
    animate(error)                                  of a run that hung, as far as it came
    animate(ring.allreduce).save("ring.svg")        for a README; "ring.html" is for a browser

The messages and times are those of the run's timeline, the bytes those of its ledger. What fills
the boxes was found in the ranks' vectors. A wrong algorithm is shown as wrong as it is, and of one
that hangs which rank waits for which: where real ranks hang, in a picture that stands still. As in
`check`, simulated ranks are strict, and what is right is run once more, on vectors of another type
which ranks cannot divide evenly: if it is wrong there, that run is shown.

Vectors show which ranks have contributed to them: rank r's holds nothing but B^r, with B a power
of two. The digits of any sum of such vectors, to the base B, say how often each rank is in it. The
order of adding and the cuts of the vector do not matter. Float64 has 52 bits for them: 13 for each
of 4 ranks, 3 for each of 16. A witness stands between the program and its communicator, and notes
the digits and the program's line at each call.

In one step a rank sends one message and receives one. A message belongs to the first step after
all that its sender had sent and received before it. It also comes after what its receiver took
before it. So the steps do not depend on how long messages are under way. P-1 messages to one rank
are P-1 steps, as its one port takes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from ddl_class.exercises.predictions import show
from ddl_class.notebook.film import (
    MOST_MESSAGES,
    ProgramLine,
    base_of,
    contributions,
    film_of,
    messages_with_bytes,
)
from ddl_class.plots.frame import need
from ddl_class.plots.player import MovingPicture
from ddl_class.plots.steps import GOALS, DrawnStep, RecordedSteps, StepMessage
from ddl_class.ranks import simulate
from ddl_runtime.diagnosis.deadlock import Deadlock, DiagnosedError
from ddl_runtime.records.timeline import Arrow
from ddl_teach import Run
from ddl_teach.comm import Comm, Request, Uniform

MOST_RANKS, MOST_RANKS_TWICE = 16, 8
WATCHED = Uniform(latency=1e-6, bandwidth=8e6)  # a number takes as long to leave as to travel

Note = tuple[int, np.ndarray, float]
"""How many messages a rank had received, what its vector then held, and when."""


class Witnessed(NamedTuple):
    """What one rank did: its notes, since when its program was in which lines (the innermost
    first), and copies of what it sent, in order, by receiver and tag."""

    notes: list[Note]
    places: list[tuple[float, Sequence[ProgramLine]]]
    sent: dict[tuple[int, int], list[np.ndarray]]


def animate(
    shown: Callable[..., Any] | Run | DiagnosedError,
    ranks: int = 4,
    *,
    goal: str = "allreduce",
    chunks: int | None = None,
    run: Callable[..., Run] = simulate,
    network: Any = WATCHED,
) -> MovingPicture:
    """Run an all-reduce `shown(comm, x)` and show it moving, with buttons and by keys; or show the
    messages of a run that was made before, also of one that ended with an error.

    `goal` is what it should come to: "allreduce", "reduce_scatter" or "reduce". Each rank's vector
    has `chunks` chunks, as many as ranks unless given. A chunk is one number. `run` is what runs
    it: `simulate`, here on a `network`, `launch`, or the `run` of engines.
    """
    run = simulate if inspect.unwrap(run) is simulate else run
    failed = shown if isinstance(shown, DiagnosedError) else None
    shown = failed.run if failed else shown
    need(shown is not None, "this error keeps no run: only simulated ranks keep how far they came")
    count = shown.ranks if isinstance(shown, Run) else ranks
    few = f"an animation shows 1 to {MOST_RANKS} ranks, not {count}"
    need(1 <= count <= MOST_RANKS, f"{few}; run.timeline.plot() shows any number")
    if isinstance(shown, Run):
        messages = messages_with_bytes(shown)
        many = f"at most {MOST_MESSAGES:,} messages can be watched, not {len(messages):,}"
        need(len(messages) <= MOST_MESSAGES, f"{many}: run.timeline.plot() shows any number")
        return MovingPicture(film_of(shown, messages, rounds(messages), error=failed))
    need(goal in GOALS, f"goal is one of {', '.join(map(repr, GOALS))}, not {goal!r}")
    need(chunks is None or chunks >= 1, f"a vector has at least 1 chunk, not {chunks}")

    def recorded(dtype: type, count: int) -> MovingPicture:
        given = {"allreduce": shown, "chunks": count, "dtype": dtype}
        seen: dict[int, Witnessed] = {}
        error = None
        if run is simulate:  # what ranks of this process have seen outlives a hang
            given |= {"keep": lambda rank, own: seen.update({rank: own}), "network": network}
        try:
            done = run(witness, ranks, **given)
        except DiagnosedError as ended:
            begun = len(seen) == ranks and any(own.places for own in seen.values())
            if ended.run is None or not begun:
                if isinstance(ended, Deadlock):
                    show(ended.plot())
                raise
            done, error = ended.run, ended
        own = [seen[rank] for rank in range(ranks)] if seen else done.results
        messages = messages_with_bytes(done)
        numbers = rounds(messages)
        # Ours are named after their files, a learner's own as the learner did.
        function = getattr(shown, "func", shown)
        name = getattr(function, "__name__", type(function).__name__)
        name = function.__module__.split(".")[-1] if name == "allreduce" else name
        steps = RecordedSteps(name, steps_of(messages, numbers, own), goal, error)
        way = network.link if run is simulate and not network.shared else None
        return MovingPicture(film_of(done, messages, numbers, steps, own, way), steps)

    picture = recorded(np.float64, chunks or ranks)
    if chunks is None and ranks <= MOST_RANKS_TWICE and not picture.steps.is_wrong:
        again = recorded(np.float32, 2 * ranks + 1)
        picture = again if again.steps.is_wrong else picture
    return picture


def steps_of(
    messages: Sequence[Arrow], numbers: Sequence[int], seen: Sequence[Witnessed]
) -> list[DrawnStep]:
    """The steps of a run of `witness`, whose messages have these numbers."""
    received: list[list[int]] = [[] for _ in seen]  # the steps of what each received
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
            contributions(_held(own.notes, received[rank], now), len(seen))
            for rank, own in enumerate(seen)
        ]
        steps.append(DrawnStep(tuple(sorted(sent)), np.array(held)))
    return steps


def _held(notes: Sequence[Note], received: Sequence[int], now: int) -> np.ndarray:
    """What a rank's vector held when it had what this step brought, and not yet what came next."""
    so_far = sum(1 for _ in takewhile(lambda number: number <= now, received))
    return [vector for count, vector, _ in notes if count <= so_far][-1]


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
    """The places of the messages that the sender had sent or received when this one left."""
    sender, now = message.source, message.start
    return {
        place
        for place, other in enumerate(messages)
        if (other.source == sender and other.start < now)
        or (other.dest == sender and other.end <= now)
    }


def _before_taking(place: int, messages: Sequence[Arrow]) -> set[int]:
    """The places of the messages that the receiver had taken before this one."""
    message = messages[place]
    return {
        k
        for k, other in enumerate(messages)
        if other.dest == message.dest and (other.end, k) < (message.end, place)
    }


def witness(
    comm: Comm,
    allreduce: Callable[..., Any],
    chunks: int,
    dtype: type = np.float64,
    keep: Callable[[int, Witnessed], None] | None = None,
) -> Witnessed:
    """Run `allreduce` on vectors of one number a chunk; returns what was seen of this rank, which
    `keep` gets at once."""
    x: np.ndarray = np.full(chunks, base_of(comm.size, dtype) ** comm.rank, dtype)
    plain = inspect.unwrap(getattr(allreduce, "func", allreduce))
    code = getattr(plain, "__code__", getattr(type(plain).__call__, "__code__", None))
    notes = Notes(x, comm, getattr(code, "co_filename", ""))  # "" of what is in no Python
    if keep is not None:
        keep(comm.rank, notes.seen)
    allreduce(RecordedComm(comm, notes), x)
    notes.take()
    notes.seen.places.append((comm.now(), ()))
    return notes.seen


class Notes:
    """What one rank's vector held, after how many messages, and where its program was."""

    def __init__(self, x: np.ndarray, comm: Comm, file: str) -> None:
        self.received = 0
        self.seen = Witnessed([(0, x.copy(), comm.now())], [], {})
        self._x = x
        self._comm = comm
        self._file = file

    def take(self) -> None:
        """Note the vector, if it has changed."""
        notes = self.seen.notes
        if not np.array_equal(self._x, notes[-1][1], equal_nan=True):
            notes.append((self.received, self._x.copy(), self._comm.now()))

    def called(self) -> None:
        """Note the vector, and the lines of the program that have led to a call."""
        self.take()
        lines: list[ProgramLine] = []
        frame = inspect.currentframe()
        while frame is not None:
            code = frame.f_code
            if code.co_filename == self._file or "ipykernel_" in code.co_filename:
                lines.append(ProgramLine(code.co_filename, code.co_firstlineno, frame.f_lineno))
            frame = frame.f_back
        self.seen.places.append((self._comm.now(), lines))

    def sent(self, comm: Comm, x: Any, to: int, tag: int) -> None:
        """A message left with `x`; in a group, whose ranks have other numbers, none is kept."""
        if comm is self._comm and isinstance(x, np.ndarray):
            self.seen.sent.setdefault((to, tag), []).append(x.ravel().copy())

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
        if callable(value := getattr(self._comm, name)):
            self._notes.called()
        return value

    def send(self, x: Any, to: int, tag: int = 0) -> None:
        self._notes.called()
        self._notes.sent(self._comm, x, to, tag)
        self._comm.send(x, to, tag)

    def recv(self, x: Any, source: int, tag: int = 0) -> int:
        self._notes.called()
        source = self._comm.recv(x, source, tag)
        self._notes.arrived(x)
        return source

    def sendrecv(self, x: Any, to: int, y: Any, source: int, tag: int = 0) -> int:
        self._notes.called()
        self._notes.sent(self._comm, x, to, tag)
        source = self._comm.sendrecv(x, to, y, source, tag)
        self._notes.arrived(y)
        return source

    def irecv(self, x: Any, source: int, tag: int = 0) -> RecordedRequest:
        self._notes.called()
        return RecordedRequest(self._comm.irecv(x, source, tag), x, self._notes)

    def isend(self, x: Any, to: int, tag: int = 0) -> RecordedRequest:
        self._notes.called()
        self._notes.sent(self._comm, x, to, tag)
        return RecordedRequest(self._comm.isend(x, to, tag), np.empty(0), self._notes)

    def wait_any(self, requests: Sequence[RecordedRequest]) -> int:
        self._notes.called()
        place = self._comm.wait_any([request.inner for request in requests])
        self._notes.arrived(requests[place].y)
        return place

    def split(self, colour: int | None, key: int = 0) -> RecordedComm | None:
        self._notes.called()
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
        self._notes.called()
        first = not self.inner.waited
        source = self.inner.wait()
        if first:
            self._notes.arrived(self.y)
        return source
