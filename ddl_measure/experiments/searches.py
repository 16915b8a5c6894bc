"""What waiting costs a search: trainings that only take time, by any number of workers.

W workers halve 3 W trials of one second each to W trials of three more. If no worker ever
waited for another, and nothing were done in vain, that would take 6 seconds. Measured is
how long it takes until W trials have been trained to the end, over that:

    synchronous, run times equal        1
    synchronous, run times differ       (2 + 4 H_W) / 6           theory.stragglers
    asynchronous                        no formula: little above 1, whatever W is

Run times that differ are exponential, and belong to the job: whichever worker does it, on
whichever ground, it takes the same. Li et al., "A system for massively parallel hyperparameter
tuning", MLSys 2020, section 4 and appendix A, for such simulations with other distributions.
What to look at: with equal run times the asynchronous search is the slower one, since some of what
it promotes and begins would not have been.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_runtime.records.run import Run
from ddl_teach.comm import Comm
from ddl_teach.search import by_ranks
from ddl_teach.search.decider import Job, Settings
from ddl_teach.search.deciders.asynchronous_halving import AsynchronousHalving
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.report import SearchReport
from ddl_teach.search.space import Space, UniformNumber
from ddl_teach.theory.stragglers import waiting

WITHOUT = 6  # seconds, if no worker waits
ENOUGH = 9  # seconds that the asynchronous search gives out for each worker
PLAN = {"space": Space({"loss": UniformNumber(0.0, 1.0)}), "rungs": 2, "eta": 3, "least": 1}


@dataclass(frozen=True)
class Pace:
    """A step takes a `second`; or where jobs `differ`, a second on the average."""

    differ: bool
    second: float = 1.0

    def __call__(self, rank: int, job: Job) -> float:
        if not self.differ:
            return self.second * job.steps
        drawn = np.random.default_rng([job.seed, job.trial, job.rung])
        return self.second * job.steps * float(drawn.exponential())


def pretended(settings: Settings, state: Any, steps: int, seed: int) -> tuple[dict, float]:
    """A training that computes nothing: its loss stands in the settings."""
    return {}, settings["loss"]


def halving(workers: int, seed: int = 0) -> SuccessiveHalving:
    """The synchronous search for `workers` workers."""
    return SuccessiveHalving(trials=3 * workers, seed=seed, **PLAN)


def asynchronous(workers: int, seed: int = 0) -> AsynchronousHalving:
    """The asynchronous one, which does not end before enough trials are trained."""
    return AsynchronousHalving(budget=ENOUGH * workers, seed=seed, **PLAN)


def waits(
    run: Callable[..., Run],
    workers: int,
    search: Callable[[int, int], Any],
    pace: Pace,
    seeds: int = 1,
) -> float:
    """How many times as long as without waiting, on the average over `seeds` seeds.

    `run` is `simulate`, `launch` or `engines.run`; `search` is `halving` or `asynchronous`.
    """
    times = []
    for seed in range(seeds):
        given = {"search": search, "workers": workers, "seed": seed, "pace": pace}
        report = run(_searched, workers + 1, trace=False, strict=False, **given).results[0]
        ends = sorted(record.end for record in report.records if record.rung == 1)
        times.append(ends[workers - 1])
    return float(np.mean(times)) / (WITHOUT * pace.second)


def _searched(
    comm: Comm, search: Callable[[int, int], Any], workers: int, seed: int, pace: Pace
) -> SearchReport | None:
    # Made here, and not given as an argument: that would be copied for each of a thousand ranks.
    return by_ranks.search(comm, pretended, search(workers, seed), pace=pace)


def compared(
    run: Callable[..., Run], pace: Pace, counts: Sequence[int]
) -> dict[str, tuple[Sequence[int], list[float]]]:
    """Both searches with each number of workers, by name: the counts, and the waiting for each.

    Means of four seeds, of fewer with many workers, where one search has many jobs already.
    """
    return {
        f"{name}, {_times(pace)}": (
            counts,
            [waits(run, count, search, pace, min(4, 1 + 64 // count)) for count in counts],
        )
        for name, search in (("halving", halving), ("asynchronous", asynchronous))
    }


def told(pace: Pace, counts: Sequence[int]) -> dict[str, tuple[Sequence[int], list[float]]]:
    """The waiting of the synchronous search by the formula, in the form of `compared`."""
    name = f"halving, {_times(pace)}"
    return {name: (counts, [waiting([(3 * w, 1.0), (w, 3.0)], w, pace.differ) for w in counts])}


def _times(pace: Pace) -> str:
    return "times differ" if pace.differ else "times equal"
