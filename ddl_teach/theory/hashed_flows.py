"""Flows that are hashed to equal links: how many meet on the fullest, by exact counting.

Each of m flows is on one of u links, all alike likely, whatever the others do. Of the u^m ways

    m! [x^m] (1 + x + x^2/2! + ... + x^k/k!)^u

have at most k flows on every link. Where k share a link, a step takes k times as long. Suppose
that on a hashed `FatTree` of two levels each leaf sends to one other leaf: then a flow meets the
same flows on its way down as on its way up. All wait for the fullest link of all leaves. What to
look at: with more leaves few flows get slower, but all wait for the slowest.
"""

import math

import numpy as np

from ddl_teach.theory.inputs import count


def slowest(flows: int, links: int, leaves: int = 1) -> np.ndarray:
    """The chance that the fullest link of all `leaves` has k flows, for k = 0 to `flows`; each
    leaf has as many flows, on links of its own."""
    for name, value in (("flows", flows), ("links", links), ("leaves", leaves)):
        count(name, value)
    at_most = []
    for most in range(flows + 1):
        ways = [1 / math.factorial(k) for k in range(most + 1)]
        product = np.ones(1)
        for _ in range(links):
            product = np.convolve(product, ways)[: flows + 1]
        reached = product[flows] if len(product) > flows else 0.0
        at_most.append((math.factorial(flows) / links**flows * reached) ** leaves)
    return np.diff(at_most, prepend=0.0)


def mean_slowdown(flows: int, links: int, leaves: int = 1) -> float:
    """How many times as long a step takes in the mean as without collisions."""
    return float(slowest(flows, links, leaves) @ np.arange(flows + 1))
