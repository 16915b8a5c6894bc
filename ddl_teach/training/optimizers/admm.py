"""Consensus ADMM: each rank minimises its own part, pulled towards a point that all agree on.

    x_r = argmin of f_r(x) + rho/2 |x - z + u_r|^2          each rank for itself, however it likes
    z   = mean of x_r + u_r, then made simple by `shared`   one average
    u_r = u_r + x_r - z                                     what rank r had to give in, so far

minimises f_1(x) + ... + f_P(x) + g(x). No gradient travels. At the end rho u_r is minus the
gradient of f_r: what the other ranks want of it, a price. Boyd et al. 2011, section 7. What to
look at: two residuals fall, how far ranks are from z and how far z still moves.
`training.consistency.consensus_admm` trains so.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.training.consistency.handles import Averages

Local = Callable[[np.ndarray, float], np.ndarray]
"""`local(centre, penalty)` minimises f_r(x) + penalty/2 |x - centre|^2."""
Shared = Callable[[np.ndarray, float], np.ndarray]
"""`shared(centre, penalty)` minimises g(z) + penalty/2 |z - centre|^2; equal on all ranks."""


@dataclass(frozen=True)
class Agreement:
    """What one rank has after the last round."""

    consensus: np.ndarray  # z, the same on all ranks
    own: np.ndarray  # x of this rank
    prices: np.ndarray  # u of this rank
    apart: list[float]  # after each round, |x - z| of this rank
    moved: list[float]  # how far z went in each round


def consensus(
    handle: Averages,
    local: Local,
    start: np.ndarray,
    *,
    penalty: float,
    rounds: int,
    shared: Shared = lambda centre, penalty: centre,
) -> Agreement:
    """Run `rounds` rounds from one `start` on all workers; without `shared`, g is 0."""
    amount(penalty, "consensus: penalty", zero=False)
    agreed, prices = start.copy(), np.zeros_like(start)
    own, apart, moved = start.copy(), [], []
    for _ in range(rounds):
        own = local(agreed - prices, penalty)
        # The mean of the changes: small numbers, which may travel in forms that lose some of them.
        change = own + prices - agreed
        handle.average(change)
        before, agreed = agreed, shared(agreed + change, handle.workers * penalty)
        prices += own - agreed
        apart.append(float(np.linalg.norm(own - agreed)))
        moved.append(float(np.linalg.norm(agreed - before)))
    return Agreement(agreed, own, prices, apart, moved)
