"""Workers that lie: how many a rule bears, what it costs without any, and when a check finds one.

    breakdown    median, trimmed mean and clipping (P-1)/2, Krum (P-3)/2, rounded down; mean 0
    variance     P times that of the result, for normal noise of variance 1: of the mean 1, of the
                 median near pi/2 for many workers, of Krum, which takes one vector, near P
    check        if a share q is replayed, a liar is found within k rounds with 1 - (1 - q)^k

More liars move the result as far as they like. Fewer move it within the reach of the honest
vectors: a small bias stays. Yin et al. 2018; Blanchard et al. 2017.
"""

from math import erf, exp, lgamma, pi, sqrt

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.theory.inputs import count


def most_liars(rule: str, workers: int) -> int:
    """How many of `workers` workers may lie, and the result is still bounded by the others."""
    needed = {"mean": count("workers", workers), "Krum": 3}.get(rule, 1)
    return max(0, (workers - needed) // 2)


def median_variance(workers: int) -> float:
    """Workers times the variance of the median of their normal noise; of the mean it is 1."""
    grid, half = np.linspace(-8, 8, 1601), (count("workers", workers) - 1) // 2
    density = np.exp(-grid * grid / 2) / sqrt(2 * pi)
    below = np.array([(1 + erf(each / sqrt(2))) / 2 for each in grid])
    ways = exp(lgamma(workers + 1) - 2 * lgamma(half + 1))
    if workers % 2:
        there = ways * (below * below[::-1]) ** half * density
        return float(workers * (grid**2 * there).sum() / 100)
    # The two in the middle, x below y, have this density together; the median lies between.
    both = np.triu((below**half * density)[:, None] * (below[::-1] ** half * density))
    return float(workers * ((grid[:, None] + grid) ** 2 * both).sum() / both.sum() / 4)


def found_within(rounds: int, share: float) -> float:
    """The chance that a worker that always lies is replayed at least once in `rounds` rounds."""
    amount(share, "share of the workers", most=1)
    return float(1 - (1 - share) ** count("rounds", rounds, 0))
