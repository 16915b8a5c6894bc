"""Do two ways of scoring put architectures in the same order? Kendall's tau.

    tau = (pairs ordered alike - pairs ordered oppositely) / sqrt(pairs untied in a, in b)

1: the same order; 0: no better than dice; (1 + tau) / 2 is the share of pairs ordered alike
where none are tied. Tau of two trainings from other weights is a ceiling for any cheaper score.
Kendall, "A new measure of rank correlation", Biometrika 30, 1938; the treatment of ties (tau-b)
1945. Shared weights can rank little better than chance: Yu, Sciuto, Jaggi, Musat and Salzmann,
"Evaluating the search phase of neural architecture search", ICLR 2020.
What to look at: the interval. Thirty architectures say little about a tau.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

RESAMPLED = 2000  # times


def kendall(first: ArrayLike, second: ArrayLike) -> float:
    """Tau-b of two scores of the same architectures; nan where one of them is constant."""
    a, b = (np.asarray(scores, float) for scores in (first, second))
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        needed = "two scores for each of at least two architectures"
        raise ValueError(f"kendall: {needed}, not {a.shape} and {b.shape}")
    of_a, of_b = np.sign(a[:, None] - a), np.sign(b[:, None] - b)
    untied = np.abs(of_a).sum() * np.abs(of_b).sum()
    return float((of_a * of_b).sum() / np.sqrt(untied)) if untied else float("nan")


def kendall_interval(
    first: Sequence[float], second: Sequence[float], seed: int = 0
) -> tuple[float, float, float]:
    """Tau, and the ends of its 95% interval by drawing architectures again with replacement."""
    a, b = np.asarray(first, float), np.asarray(second, float)
    random = np.random.default_rng(seed)
    drawn = random.integers(len(a), size=(RESAMPLED, len(a)))
    taus = [kendall(a[places], b[places]) for places in drawn]
    low, high = np.nanpercentile(taus, (2.5, 97.5))
    return kendall(a, b), float(low), float(high)
