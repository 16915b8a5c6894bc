"""Halving on workers: what it costs to wait for the last of each rung.

n jobs, each of `mean` seconds on average, on W workers that take the next one from a queue:

    all take equally long              mean ceil(n / W)
    they differ (exponential)          mean (n / W - 1 + H_W),     H_W = 1 + 1/2 + ... + 1/W

The second line is exact for n >= W: while the queue lasts all W work, and it is empty after n - W
of the n jobs have ended; then the slowest of W remaining ones decides, and an exponential time
that has already lasted does not know it. With n < W it is mean H_n. A search whose workers never
wait would take mean n / W.
Synchronous halving waits so at the end of every rung, and longest at the end of the last one,
where jobs are longest. Since H_W is about ln W + 0.58, it gets worse with every worker.
What to look at: `waiting`, how many times as long as without waiting: 1 where all run times are
equal, so there nothing can be gained.
"""

import math
from collections.abc import Sequence

from ddl_teach.theory.inputs import cost, count
from ddl_teach.theory.stragglers import slowest


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

    `schedule` has the jobs of each rung and the mean seconds of one; its inverse is the part of
    their time in which workers work.

    >>> round(1 / waiting([(9000, 1.0), (3000, 3.0), (1000, 9.0)], workers=1000), 2)
    0.24
    """
    took = sum(rung_seconds(jobs, workers, mean, differ) for jobs, mean in schedule)
    return took * workers / sum(jobs * mean for jobs, mean in schedule)
