"""Matching: number one network's hidden units as another's, and they can be averaged.

Hidden units have no order: for every permutation p the *twin* W1[:, p], b1[p], W2[p, :] computes
the same function, and there are hidden! of them. The mean of two twins mixes units that have
nothing to do with each other. Matching finds the twin that is nearest to a reference,

    min over p of |reference - twin(w, p)|^2   =   max over p of  sum over i of  S[i, p(i)],
    S = W1_ref^T W1 + b1_ref b1^T + W2_ref W2^T,

a linear assignment: hidden^2 (inputs + outputs) operations for S and at most hidden^3 for p, exact
with one hidden layer. Ainsworth, Hayase and Srinivasa, "Git Re-Basin: merging models modulo
permutation symmetries", ICLR 2023, also for matching many to their mean.
What to look at: of twins the matched mean is the original; of networks that were trained apart it
is far better than the plain mean and still worse than a member. The wider the networks, the
smaller the difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from ddl_runtime.core.checks import whole_number
from ddl_teach.collectives import ring, tree
from ddl_teach.comm import Comm
from ddl_teach.search.consolidation.ensemble import mean_of_members, rows_of
from ddl_teach.training.tasks.perceptron import Perceptron


@dataclass(frozen=True)
class Matched:
    """The mean after matching, and this rank's members as they went into it. `apart`: the mean
    squared distance of all members to their mean, after each round."""

    mean: np.ndarray
    members: tuple[np.ndarray, ...]
    apart: tuple[float, ...]


def twin(network: Perceptron, weights: np.ndarray, order: ArrayLike) -> np.ndarray:
    """The same function with unit `order[i]` in the place of unit i: a new vector."""
    order = np.asarray(order)
    if sorted(order) != list(range(network.hidden)):
        raise ValueError(
            f"order={list(order)} must name each of the {network.hidden} hidden units once, as "
            "np.random.default_rng(0).permutation(hidden) does"
        )
    first, bias, second, last = network.arrays(weights)
    return np.concatenate([first[:, order].ravel(), bias[order], second[order].ravel(), last])


def match(network: Perceptron, reference: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The order of hidden units that makes the twin of `weights` nearest to `reference`."""
    first, bias, second, _ = network.arrays(reference)
    other_first, other_bias, other_second, _ = network.arrays(weights)
    alike = first.T @ other_first + np.outer(bias, other_bias) + second @ other_second.T
    return np.asarray(linear_sum_assignment(alike, maximize=True)[1])


def matched_mean(
    comm: Comm, network: Perceptron, members: Sequence[np.ndarray], rounds: int = 20
) -> Matched:
    """The mean of all ranks' members. Each round matches them to the last mean, at first to one
    member, and takes a new mean. Both steps make the distances to the mean smaller."""
    whole_number(rounds, "rounds", 1)
    holder = np.array([comm.rank if members else comm.size])
    ring.allreduce(comm, holder, "min")
    mean = np.zeros(network.layers[-1])
    if comm.rank == holder[0]:
        mean[:] = members[0]
    tree.broadcast(comm, mean, root=int(holder[0]) % comm.size)
    apart: list[float] = []
    for _ in range(rounds):
        members = [twin(network, member, match(network, mean, member)) for member in members]
        mean = mean_of_members(comm, rows_of(members, len(mean)))
        squares = [np.sum((member - mean) ** 2, keepdims=True) for member in members]
        apart += [float(mean_of_members(comm, rows_of(squares, 1))[0])]
        # All ranks have the same bits of these sums, and so they stop together.
        if len(apart) > 1 and apart[-1] >= apart[-2]:
            break
    return Matched(mean, tuple(members), tuple(apart))
