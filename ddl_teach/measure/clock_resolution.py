"""What a clock can tell: its smallest step, and what looking at it costs.

A clock moves in steps, and a reading takes time itself. What lasts t seconds is known to within
(step + cost) / t of itself, so a hundred times both is the shortest work of which one percent can
be told. What to look at: shorter work has to be repeated in a row and divided.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

ENOUGH = 1000  # readings
TICKS = 3  # of a clock, between the first of which and the last it is watched
MOST = 100_000_000  # readings after which a clock is said to stand


@dataclass(frozen=True)
class Resolution:
    """Seconds: the smallest difference of two readings that differ, and what a reading takes."""

    step: float
    cost: float

    def shortest(self, within: float = 0.01) -> float:
        """The shortest work whose time can be told to within that share of itself."""
        if not 0 < within < 1:
            raise ValueError(f"within={within} is a share of the time, such as 0.01")
        return (self.step + self.cost) / within


def resolution(clock: Callable[[], float] = time.perf_counter) -> Resolution:
    """Look at a clock again and again: `comm.now`, for instance."""
    begun = last = clock()
    step, ticks, readings = float("inf"), 0, 0
    while readings < ENOUGH or ticks < TICKS:
        shown = clock()
        readings += 1
        if shown != last:
            ticks += 1
            step = min(step, abs(shown - last))
            last = shown
        elif readings >= MOST:
            raise ValueError(f"the clock stood still through {MOST:,} readings: it cannot time")
    return Resolution(step, (last - begun) / readings)
