"""NoLoCo: train in rounds, and make the outer step with one other worker, not with all.

    velocity = momentum velocity + rate mean(change) - pull (slow - mean(slow));  slow += velocity

Both means are over this worker and its partner of the round. The last term pulls their weights
together. Cost of a round: one message of 2 n bytes, for any number of workers.
Kolehmainen et al., "NoLoCo: no-all-reduce low communication training method for large models",
arXiv 2025.
What to look at: no worker ever has the mean of all, and each round halves what they differ by.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm

Gradient = Callable[[np.ndarray, int, int, int], np.ndarray]  # weights, worker, workers, step


def train(
    comm: Comm, weights: np.ndarray, gradient: Gradient, steps: int, rate: float,
    partners: list[list[int]], period: int, momentum: float, outer: float, pull: float,
) -> None:  # fmt: skip
    """Train `weights` in place; `partners[round][rank]` is the other worker, or the rank itself."""
    slow, velocity = weights.copy(), np.zeros_like(weights)
    for number, begin in enumerate(range(0, steps, period)):
        for step in range(begin, min(begin + period, steps)):
            weights -= rate * gradient(weights, comm.rank, comm.size, step)
        mine = np.stack((weights - slow, slow))
        theirs, partner = mine.copy(), partners[number % len(partners)][comm.rank]
        if partner != comm.rank:
            comm.sendrecv(mine, partner, theirs, partner)
        change, middle = (mine + theirs) / 2
        velocity *= momentum
        velocity += outer * change - pull * (slow - middle)
        slow += velocity
        weights[:] = slow
