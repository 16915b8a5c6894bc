"""Clocks of several ranks made one: offset and drift, from the ping-pongs that were fastest.

Every computer counts seconds from another moment, and a little faster or slower than the next.
Rank 0 asks a rank what its clock shows; between question and answer a round trip passes by rank
0's clock. The answer was given some time in between. So the middle is wrong by half the round trip
at most; the *fastest* of many is wrong least (Cristian 1989). That is done at the beginning and at
the end; the straight line between the two gives offset and drift.

    |error| <= (least round trip) / 2,    cost: 2 turns (P-1) round trips, all through rank 0

What to look at: before correction messages arrive before they left; afterwards none does by more
than the bound.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_runtime.core.checks import check_program
from ddl_runtime.records.ledger import Ledger
from ddl_runtime.records.memory import MemoryTrack
from ddl_runtime.records.run import Run
from ddl_runtime.records.timeline import Timeline
from ddl_teach.comm import Comm

TURNS = 20
KIND = "clocks"  # of these messages, in the ledger


@dataclass(frozen=True)
class Reading:
    """When rank 0's clock showed `at`, this rank's showed `ahead` more, give or take `bound`."""

    at: float
    ahead: float
    bound: float


def compare_clocks(comm: Comm, turns: int = TURNS) -> Reading:
    """Each rank's reading beside rank 0's clock; all ranks call it, and leave it together."""
    if turns < 1:
        raise ValueError(f"turns={turns}: clocks are compared by at least one round trip")
    between = comm.aside(KIND)
    nothing, shown, answer = np.empty(0), np.empty(1), np.empty(3)
    if comm.rank > 0:
        for _ in range(turns):
            between.recv(nothing, 0)
            shown[0] = comm.now()
            between.send(shown, 0)
        between.recv(answer, 0)
        return Reading(*answer.tolist())
    readings = []
    for rank in range(1, comm.size):
        fastest = np.inf
        for _ in range(turns):
            asked = comm.now()
            between.send(nothing, rank)
            between.recv(shown, rank)
            answered = comm.now()
            if answered - asked < fastest:
                fastest, middle = answered - asked, (asked + answered) / 2
                answer[:] = middle, shown[0] - middle, fastest / 2
        readings.append(answer.copy())
    for rank, reading in enumerate(readings, start=1):
        between.send(reading, rank)
    return Reading(comm.now(), 0.0, 0.0)


@dataclass(frozen=True)
class Timed:
    """What a program returned on one rank, when it ran by this rank's clock, and what that clock
    showed beside rank 0's before and after; all in seconds."""

    result: Any
    begun: float
    ended: float
    before: Reading
    after: Reading

    @property
    def drift(self) -> float:
        """Seconds that the clock gains in a second."""
        apart = self.after.at - self.before.at
        return (self.after.ahead - self.before.ahead) / apart if apart else 0.0

    def true(self, shown: float) -> float:
        """The time by rank 0's clock. It is wrong by the larger bound at most, if the drift does
        not change."""
        since = shown - self.before.ahead - self.before.at
        return self.before.at + since / (1 + self.drift)


def with_clocks(program: Callable[..., Any], turns: int = TURNS) -> Callable[..., Timed]:
    """The same program, but ranks compare their clocks before and after it; `corrected` needs such
    a run."""
    check_program(program)

    @functools.wraps(program)
    def compared(comm: Comm, **kwargs: Any) -> Timed:
        before = compare_clocks(comm, turns)
        begun = comm.now()
        result = program(comm, **kwargs)
        return Timed(result, begun, comm.now(), before, compare_clocks(comm, turns))

    return compared


def corrected(run: Run) -> Run:
    """A run of `with_clocks(program)` as if all ranks had one clock, which is 0 when the first
    rank begins. The messages by which the clocks were compared are left out."""
    ranks: list[Timed] = run.results
    if not all(isinstance(timed, Timed) for timed in ranks):
        raise TypeError(
            "corrected: the ranks of this run have not compared their clocks. Run the program as "
            "launch(with_clocks(program), ...)"
        )
    zero = min(timed.true(timed.begun) for timed in ranks)
    spans = [
        [
            span._replace(start=timed.true(span.start) - zero, end=timed.true(span.end) - zero)
            for span in own
            if timed.begun <= span.start and span.end <= timed.ended
        ]
        for own, timed in zip(run.timeline.spans, ranks, strict=True)
    ]
    ledgers = [
        Ledger([tuple(message) for message in ledger.messages if message.kind != KIND])
        for ledger in run.ledger
    ]
    held = [
        [(timed.true(then) - zero, nbytes, what) for then, nbytes, what in run.memory.of(rank)]
        for rank, timed in enumerate(ranks)
    ]
    time = max(timed.true(timed.ended) for timed in ranks) - zero
    results = [timed.result for timed in ranks]
    return Run(results, time, ledgers, Timeline(spans), MemoryTrack(held))
