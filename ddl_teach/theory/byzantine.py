"""Workers that lie: how many a rule bears, what it costs without any, and when a check finds one.

    breakdown    mean 0, median and clipping (P-1)/2, trimmed mean (P-1)/2, Krum (P-3)/2, rounded down
    variance     P times the variance of what comes out, for normal noise of variance 1:
                 mean 1;  median near pi/2 for many workers;  Krum, which takes one vector, near P
    check        a share q of the workers is replayed in a round: after k rounds a liar is found
                 with the chance 1 - (1 - q)^k, and 1/q rounds are expected

Above the breakdown liars can move the result as far as they like. Below it the result stays within
reach of the honest vectors: that bounds a small bias, and does not remove it. Yin et al. 2018;
Blanchard et al. 2017.
"""

from math import erf, lgamma, sqrt

import numpy as np

from ddl_teach.theory.inputs import count


def most_liars(rule: str, workers: int) -> int:
    """How many of so many workers may lie, and the result is still bounded by the others."""
    needed = {"mean": count("workers", workers), "Krum": 3}.get(rule, 1)
    return max(0, (workers - needed) // 2)


def median_variance(workers: int) -> float:
    """Workers times the variance of the median of their normal noise; of the mean it is 1."""
    count("workers", workers)
    grid = np.linspace(-8, 8, 1601)
    density = np.exp(-grid * grid / 2) / sqrt(2 * np.pi)
    below = np.array([(1 + erf(each / sqrt(2))) / 2 for each in grid])
    step, half = grid[1] - grid[0], (workers - 1) // 2
    log_below, log_above = np.log(below + 1e-300), np.log(below[::-1] + 1e-300)
    if workers % 2:
        ways = lgamma(workers + 1) - 2 * lgamma(half + 1)
        at = np.exp(ways + half * (log_below + log_above)) * density
        return float(workers * (grid * grid * at).sum() * step)
    # The two in the middle, x below y, have this density together.
    ways = lgamma(workers + 1) - 2 * lgamma(half + 1)
    lower, upper = np.exp(half * log_below) * density, np.exp(half * log_above) * density
    both = np.triu(np.exp(ways) * lower[:, None] * upper)
    both /= both.sum()
    middle = (grid[:, None] + grid) / 2
    return float(workers * (middle * middle * both).sum())


def found_within(rounds: int, share: float) -> float:
    """The chance that a worker that always lies is replayed at least once in so many rounds."""
    if not 0 <= share <= 1:
        raise ValueError(f"share={share!r} is a part of the workers, from 0 to 1")
    return float(1 - (1 - share) ** count("rounds", rounds, 0))
