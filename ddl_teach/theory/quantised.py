"""How far a mean of rounded vectors is from the mean of the vectors, and what it costs.

Rounding to steps of max / s adds an error of variance max^2 / (12 s^2). Let the numbers be
independent and normal. The error's share in their variance is q = E[max^2] / (12 s^2), where max
is the largest magnitude of a block. A partial sum of k ranks has k times the variance, and so has
its error. So relative to the variance of the sum:

    all-to-all   P parts are rounded, then the sum:   (P + P) q / P = 2 q
    ring         a sum of 1, 2, ..., P is rounded:    (1 + 2 + ... + P) q / P = (P + 1) q / 2
    gathered     P parts are rounded, and no sum:     q

What to look at: the root of it, which grows like sqrt(P) for the ring. If instead all ranks have
the same numbers, sums grow like k, errors are not independent, and none of this holds.
"""

import math

import numpy as np

from ddl_teach.theory.inputs import count

WAYS = ("all-to-all", "ring", "gathered")


def largest_squared(block: int) -> float:
    """E[max^2] of the magnitudes of `block` standard normal numbers."""
    edges = np.linspace(0, 12, 4001)
    below = np.array([math.erf(edge / math.sqrt(2)) for edge in edges]) ** count("block", block)
    return float(np.trapezoid(2 * edges * (1 - below), edges))


def relative_error(way: str, ranks: int, levels: int = 127, block: int = 64) -> float:
    """The root of the mean square error over that of the mean."""
    q = largest_squared(block) / (12 * count("levels", levels) ** 2)
    shares = {"all-to-all": 2.0, "ring": (count("ranks", ranks) + 1) / 2, "gathered": 1.0}
    return math.sqrt(shares[way] * q)


def sent_bytes(way: str, ranks: int, message: float) -> float:
    """The bytes that a rank sends, if the whole vector makes a message of `message` bytes."""
    return (ranks - 1) * message * (1 if way == "gathered" else 2 / ranks)
