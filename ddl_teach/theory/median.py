"""Which of n ordered times enclose the true median, however the times are distributed.

The number of times below the true median is binomial: `below` of n lie there with the chance
n! / (below! (n - below)!) / 2^n. So two of the ordered times enclose it in as many experiments as
these chances say (Hoefler and Belli 2015).
"""

import math


def chance(below: int, count: int) -> float:
    """That `below` of `count` lie below the true median; by logarithms, as 2^count is large."""
    ways = math.lgamma(count + 1) - math.lgamma(below + 1) - math.lgamma(count - below + 1)
    return math.exp(ways - count * math.log(2))


def enclosing(count: int, confidence: float = 0.95) -> tuple[int, int]:
    """The places of the two ends, the narrowest ones, among `count` ordered times."""
    if count < 1:
        raise ValueError("no times were given: a median needs at least one")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} is a share between 0 and 1, such as 0.95")
    # They miss a median below the lower end where `low` times at most lie below the median. The
    # narrowest ones whose chance of that is half of what may be missed:
    low, missed = 0, chance(0, count)
    while (missed := missed + chance(low + 1, count)) <= (1 - confidence) / 2 * (1 + 1e-9):
        low += 1
    return low, count - 1 - low
