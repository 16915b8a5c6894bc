"""The machine of unit 17's puzzle: eight workers, and searches whose losses stand in tables.

Trial t trains rung k in STEPS[k] * pace[t] seconds, and then has the loss losses[t, k]. The tables
are invented: what a trial reaches, how fast, and some noise that becomes less with each rung. Run
times differ and say nothing about losses. A race is over when one of the best three is trained to
the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

TRIALS, WORKERS, STEPS = 81, 8, (1, 3, 9, 27)
LAST = len(STEPS) - 1
GOOD = 3  # so many trials are worth finding
NOISE = (0.25, 0.15, 0.08, 0.03)
TO_COME = (1.0, 0.6, 0.3, 0.0)  # what a trial loses from each rung to the last
LIMIT = 1_000.0  # seconds

Choose = Callable[[list[list[float]], list[list[float]], list[int]], Any]
"""`next_job(losses, seconds, busy)`: a trial, or None to wait."""


@dataclass(frozen=True)
class Search:
    """What each trial reaches after each rung, and how long a step of it takes."""

    losses: np.ndarray
    pace: np.ndarray

    @property
    def target(self) -> float:
        """The last loss of the worst trial that is worth finding."""
        return float(np.sort(self.losses[:, -1])[GOOD - 1])


@dataclass(frozen=True)
class SearchRace:
    """When the search was over, infinite if it found none; and its jobs, `(trial, rung)`."""

    seconds: float
    jobs: list[tuple[int, int]]


class WrongJob(Exception):
    """A job that cannot be done; its text says why: "again", "done", "unknown"."""


def drawn(random: np.random.Generator) -> Search:
    """A search at random."""
    reached, slow = random.uniform(0, 1, TRIALS), random.uniform(0.45, 1.5, TRIALS)
    noise = random.standard_normal((TRIALS, len(STEPS))) * NOISE
    losses = reached[:, None] + slow[:, None] * TO_COME + noise
    return Search(losses.round(3), (0.1 + random.exponential(0.9, TRIALS)).round(3))


SEARCHES = [drawn(np.random.default_rng([17, number])) for number in range(16)]


def race(next_job: Choose, search: Search) -> SearchRace:
    """Let the workers of the machine search by this rule."""
    losses: list[list[float]] = [[] for _ in range(TRIALS)]
    seconds: list[list[float]] = [[] for _ in range(TRIALS)]
    ends: list[tuple[float, int]] = []
    jobs: list[tuple[int, int]] = []
    now = 0.0
    while now < LIMIT:
        while len(ends) < WORKERS:
            busy = sorted(trial for _, trial in ends)
            trial = next_job([list(row) for row in losses], [list(row) for row in seconds], busy)
            if trial is None:
                break
            if trial not in range(TRIALS):
                raise WrongJob("unknown", trial)
            if trial in busy or len(losses[trial]) > LAST:
                raise WrongJob("again" if trial in busy else "done", trial)
            rung = len(losses[trial])
            heappush(ends, (now + float(STEPS[rung] * search.pace[trial]), int(trial)))
            jobs.append((trial, rung))
        if not ends:
            break
        now, trial = heappop(ends)
        rung = len(losses[trial])
        losses[trial].append(float(search.losses[trial, rung]))
        seconds[trial].append(float(STEPS[rung] * search.pace[trial]))
        if rung == LAST and losses[trial][-1] <= search.target:
            return SearchRace(float(now), jobs)
    return SearchRace(np.inf, jobs)
