"""Stragglers: what waiting costs, for delays that pass and for one that stays.

Delays that pass: each step of each worker takes a random time, exponential, `mean` seconds. To
wait for all P is to wait for the slowest, and H_P = 1 + 1/2 + ... + 1/P is about ln P + 0.58:

    all of P                      mean H_P
    first P of P + b (backups)    mean (H_{P+b} - H_b)
    one alone, none waits         mean

A delay that stays: one worker takes `slow` seconds for each step and the others `fast`. A bound s
on how many steps a worker may be ahead is used up after s slow / (slow - fast) steps, once:

    time of n steps               max(n fast, (n - 1 - s) slow + fast)

Chen, Pan, Monga, Bengio and Jozefowicz, "Revisiting distributed synchronous SGD", 2016, for the
backups; Ho et al. 2013, for the bound.
What to look at: a bound cures the first kind of delay and only postpones the second.

Halving on workers waits for the last of each rung. n jobs of `mean` seconds on average, on W
workers that take the next one from a queue, last

    all equally long              mean ceil(n / W)
    exponential, n >= W           mean (n / W - 1 + H_W)
    a search that never waits     mean n / W

What to look at: `waiting`, how many times as long as without waiting; it grows with ln W.

Actors answer, in `mean` seconds, and a learner trains on B answers a step. Its port is busy for
`transfer` seconds with each copy of the weights. For A actors a step lasts

    B = A, none ahead             mean H_A + A transfer + training
    none waits                    the longest of B (mean + transfer) / A, B transfer, training
"""

import math
from collections.abc import Sequence

import numpy as np

from ddl_teach.theory.inputs import cost, count


def slowest(workers: int, mean: float = 1.0, backups: int = 0) -> float:
    """Expected seconds until `workers` of `workers + backups` exponential times are over."""
    wanted, extra = count("workers", workers), count("backups", backups, 0)
    return cost("mean", mean) * float(np.sum(1 / np.arange(extra + 1, extra + wanted + 1)))


def bounded_time(steps: int, bound: int, fast: float, slow: float) -> float:
    """Seconds until a fast worker has made its steps, beside a persistently slow one."""
    steps, bound = count("steps", steps), count("bound", bound, 0)
    fast, slow = cost("fast", fast), cost("slow", slow)
    if slow < fast:
        raise ValueError(f"slow={slow} must not be below fast={fast}")
    return max(steps * fast, (steps - 1 - bound) * slow + fast)


def rung_seconds(jobs: int, workers: int, mean: float = 1.0, differ: bool = True) -> float:
    """Expected seconds until the last of these jobs is done."""
    jobs, workers, mean = count("jobs", jobs), count("workers", workers), cost("mean", mean)
    if not differ:
        return mean * math.ceil(jobs / workers)
    if jobs < workers:
        return slowest(jobs, mean)
    return mean * (jobs / workers - 1) + slowest(workers, mean)


def waiting(schedule: Sequence[tuple[int, float]], workers: int, differ: bool = True) -> float:
    """How many times as long a synchronous halving takes as if no worker ever waited.

    `schedule` has the jobs of each rung and the mean seconds of one.

    >>> round(1 / waiting([(9000, 1.0), (3000, 3.0), (1000, 9.0)], workers=1000), 2)
    0.24
    """
    took = sum(rung_seconds(jobs, workers, mean, differ) for jobs, mean in schedule)
    return took * workers / sum(jobs * mean for jobs, mean in schedule)


def answered_in_turn(actors: int, mean: float, training: float, transfer: float = 0.0) -> float:
    """Seconds of a step if all actors answer, and then the learner trains."""
    return slowest(actors, mean) + actors * cost("transfer", transfer) + cost("training", training)


def answered_ahead(
    actors: int, per_step: int, mean: float, training: float, transfer: float = 0.0
) -> float:
    """Seconds of a step in the long run if no actor ever waits for the learner."""
    alone = per_step * (mean + transfer) / count("actors", actors)
    return max(alone, per_step * cost("transfer", transfer), cost("training", training))
