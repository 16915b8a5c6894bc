"""Clocks of several ranks made one: offset and drift, from the ping-pongs that were fastest.

Every computer counts seconds from another moment, and a little faster or slower than the next.
Rank 0 asks a rank what its clock shows; between question and answer a round trip passes by rank
0's clock. The answer was given some time in between, so the middle is wrong by half the round trip
at most, and least by the *fastest* of many (Cristian 1989). That is done at the beginning and at
the end; the straight line between is offset and drift.

    |error| <= (least round trip) / 2,    cost: 2 turns (P-1) round trips, all through rank 0

What to look at: before correction messages arrive before they left; afterwards none does by more
than the bound.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_runtime.core.checks import check_program
from ddl_runtime.records.ledger import Ledger
from ddl_runtime.records.run import Run
from ddl_runtime.records.timeline import Arrow, Timeline
from ddl_teach.comm import Comm

TURNS = 20
KIND = "clocks"  # of these messages, in the ledger


@dataclass(frozen=True)
class Reading:
    """When rank 0's clock showed `at`, this rank's showed `ahead` more, give or take `bound`."""

    at: float
    ahead: float
    bound: float


@dataclass(frozen=True)
class RankClock:
    """A rank's clock beside rank 0's, whose time is called true; all in seconds."""

    begin: Reading
    end: Reading

    @property
    def drift(self) -> float:
        """Seconds that it gains in a second, give or take (the sum of both bounds) / (time)."""
        apart = self.end.at - self.begin.at
        return (self.end.ahead - self.begin.ahead) / apart if apart else 0.0

    @property
    def bound(self) -> float:
        """How wrong `true` can be between the two readings, if the drift does not change."""
        return max(self.begin.bound, self.end.bound)

    def shown(self, true: float) -> float:
        return true + self.begin.ahead + self.drift * (true - self.begin.at)

    def true(self, shown: float) -> float:
        drift, since = self.drift, shown - self.begin.ahead - self.begin.at
        return self.begin.at + since / (1 + drift)


@dataclass(frozen=True)
class Timed:
    """What a program returned on one rank, when it ran by this rank's clock, and that clock."""

    result: Any
    begun: float
    ended: float
    clock: RankClock


def compare_clocks(comm: Comm, turns: int = TURNS) -> Reading:
    """Each rank's reading beside rank 0's clock; all ranks call it, and leave it together."""
    if turns < 1:
        raise ValueError(f"turns={turns}: clocks are compared by at least one round trip")
    between = comm.aside(KIND)
    nothing, shown, found = np.empty(0), np.empty(1), np.empty(3)
    if comm.rank > 0:
        for _ in range(turns):
            between.recv(nothing, 0)
            shown[0] = comm.now()
            between.send(shown, 0)
        between.recv(found, 0)
        return Reading(*found.tolist())
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
                found[:] = middle, shown[0] - middle, fastest / 2
        readings.append(found.copy())
    for rank, reading in enumerate(readings, start=1):
        between.send(reading, rank)
    return Reading(comm.now(), 0.0, 0.0)


def with_clocks(program: Callable[..., Any], turns: int = TURNS) -> Callable[..., Timed]:
    """The same program, with clocks compared before and after it: `corrected` wants its run."""
    check_program(program)

    @functools.wraps(program)
    def compared(comm: Comm, **kwargs: Any) -> Timed:
        begin = compare_clocks(comm, turns)
        begun = comm.now()
        result = program(comm, **kwargs)
        ended = comm.now()
        return Timed(result, begun, ended, RankClock(begin, compare_clocks(comm, turns)))

    return compared


def corrected(run: Run) -> Run:
    """A run of `with_clocks(program)` as if all ranks had one clock, 0 when the first one began.

    The comparisons themselves are in it no more.
    """
    if not all(isinstance(timed, Timed) for timed in run.results):
        raise TypeError(
            "corrected: the ranks of this run have not compared their clocks. Run the program as "
            "launch(with_clocks(program), ...)"
        )
    timed: list[Timed] = run.results
    zero = min(each.clock.true(each.begun) for each in timed)
    own = [
        [span for span in spans if each.begun <= span.start and span.end <= each.ended]
        for spans, each in zip(run.timeline.spans, timed, strict=True)
    ]
    return Run(
        [each.result for each in timed],
        max(each.clock.true(each.ended) for each in timed) - zero,
        [
            Ledger([tuple(message) for message in ledger.messages if message.kind != KIND])
            for ledger in run.ledger
        ],
        retimed(
            Timeline(own),
            [lambda shown, clock=each.clock: clock.true(shown) - zero for each in timed],
        ),
    )


def retimed(timeline: Timeline, changes: Sequence[Callable[[float], float]]) -> Timeline:
    """The spans of each rank at other times: `clock.true` of each rank's clock corrects them."""
    if len(changes) != timeline.ranks:
        raise ValueError(f"{timeline.ranks} ranks and {len(changes)} changes: give one for each")
    return Timeline(
        [
            [span._replace(start=change(span.start), end=change(span.end)) for span in spans]
            for spans, change in zip(timeline.spans, changes, strict=True)
        ]
    )


def impossible(timeline: Timeline) -> list[Arrow]:
    """Messages in somebody's hands before they were sent: what clocks that disagree look like."""
    return [arrow for arrow in timeline.messages if arrow.end < arrow.start]
