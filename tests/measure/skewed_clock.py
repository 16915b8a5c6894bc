"""A clock that is wrong on purpose: to see whether it is found out.

Ranks on one machine share its clock, and simulated ones the virtual time, so their clocks never
disagree. Give each rank a clock that is ahead by so much and gains so much a second, and compare
clocks: what was planted must come out, within the bound.
"""

from dataclasses import dataclass
from typing import Any

from ddl_teach.comm import Comm


@dataclass(frozen=True)
class Planted:
    """A clock that is ahead of true time by so much at time 0 and gains `drift` a second."""

    ahead: float
    drift: float = 0.0

    def shown(self, true: float) -> float:
        return true + self.ahead + self.drift * true

    def true(self, shown: float) -> float:
        return (shown - self.ahead) / (1 + self.drift)


class SkewedClock:
    """A communicator with another `now`; all else is the communicator's own."""

    def __init__(self, comm: Comm, clock: Planted) -> None:
        self._comm, self._clock = comm, clock

    def now(self) -> float:
        return self._clock.shown(self._comm.now())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)
