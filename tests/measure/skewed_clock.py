"""A clock that is wrong on purpose: to see whether it is found out.

Ranks on one machine share its clock, and simulated ones the virtual time, so their clocks never
disagree. Give each rank a `RankClock` that is ahead by so much and gains so much a second, and
compare clocks: what was planted must come out, within the bound. What to look at: the timeline
that such ranks would have recorded is `retimed(timeline, [clock.shown ...])`.
"""

from __future__ import annotations

from typing import Any

from ddl_measure.clocks import RankClock, Reading
from ddl_teach.comm import Comm


def planted(ahead: float, drift: float = 0.0) -> RankClock:
    """A clock that is ahead of true time by so much at time 0 and gains `drift` a second."""
    return RankClock(Reading(0.0, ahead, 0.0), Reading(1.0, ahead + drift, 0.0))


class SkewedClock:
    """A communicator with another `now`; all else is the communicator's own, its timeline too."""

    def __init__(self, comm: Comm, clock: RankClock) -> None:
        self._comm, self._clock = comm, clock

    def now(self) -> float:
        return self._clock.shown(self._comm.now())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)
