"""The noise floor: one fixed quantum of work again and again, and what it loses.

The quantum always does the same, so it should always take the same: its least time. What is above
is lost to the operating system, to other programs, to a processor that slows down. One rank loses
little; but P ranks that wait for each other lose what the *unluckiest* loses each time:

    slow-down on P ranks = E[max of P quanta] / (least quantum)

(Petrini, Kerbyson and Pakin 2003; Hoefler, Schneider and Lumsdaine 2010.) Here ranks are taken to
be disturbed independently of each other. What to look at: rare long interruptions hardly change
the mean and rule the maximum.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

TRIAL = 10_000  # turns of the loop, to find out how many make a quantum


@dataclass(frozen=True)
class Quanta:
    """When each quantum began and how long it took; how often the system took the core away."""

    starts: np.ndarray
    seconds: np.ndarray
    interruptions: int

    @property
    def lost(self) -> np.ndarray:
        """Seconds of each quantum beyond the least of all."""
        return self.seconds - self.seconds.min()

    @property
    def share_lost(self) -> float:
        """Of all the time."""
        return float(self.lost.sum() / self.seconds.sum())

    def slow_down(self, ranks: int) -> float:
        """How many times the least quantum so many ranks take that wait for each other."""
        if ranks < 1:
            raise ValueError(f"ranks={ranks}: at least one takes a quantum")
        places = np.arange(len(self.seconds) + 1) / len(self.seconds)
        # The greatest of P draws is the i-th of n times with chance (i/n)^P - ((i-1)/n)^P.
        chances = np.diff(places**ranks)
        return float(np.sort(self.seconds) @ chances / self.seconds.min())


def work_quanta(
    count: int = 1000,
    seconds: float = 1e-3,
    clock: Callable[[], float] = time.perf_counter,
) -> Quanta:
    """Do `count` quanta of work that take about so many seconds each at best."""
    if count < 2 or not 0 < seconds < np.inf:
        raise ValueError(f"count={count} must be at least 2 and seconds={seconds} more than 0")
    turns = max(1, round(TRIAL * seconds / min(_quantum(TRIAL, clock) for _ in range(5))))
    starts, taken = np.empty(count), np.empty(count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    for place in range(count):
        starts[place] = clock()
        taken[place] = _quantum(turns, clock)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    return Quanta(starts - starts[0], taken, after - before)


def _quantum(turns: int, clock: Callable[[], float]) -> float:
    begun = clock()
    for _ in range(turns):
        pass
    return clock() - begun
