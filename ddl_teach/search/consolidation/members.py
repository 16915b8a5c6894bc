"""The mean over all members on all ranks, of whatever they are asked for: one all-reduce.

    mean = (sum over ranks of (sum over own members)) / (sum over ranks of how many)

The count travels with the sum, so a rank may hold any number of members, also none. By the ring
each rank sends 2 (P-1)/P of 8 (n + 1) bytes, however many members there are.

Of *outputs* this mean is an ensemble. Of *weights* it is a network only where all members lie in
one valley: those of one training do (Izmailov, Podoprikhin, Garipov, Vetrov and Wilson, "Averaging
weights leads to wider optima and better generalization", UAI 2018), those of two trainings do not.
What to look at: the mean of weights costs an ensemble's communication once and a single network's
work ever after.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm


def mean_of_members(comm: Comm, own: np.ndarray) -> np.ndarray:
    """The mean over the first axis of every rank's `own`, which may have the length 0 there."""
    own = np.asarray(own)
    if own.ndim == 0:
        raise ValueError(
            f"rank {comm.rank}: own={own} is a single number; members stand along the first axis, "
            "as in np.array([number])"
        )
    total = np.append(own.sum(axis=0, dtype=np.float64).ravel(), float(len(own)))
    ring.allreduce(comm, total)
    if not total[-1]:
        raise ValueError("no rank has a member: there is nothing to take a mean of")
    return np.asarray((total[:-1] / total[-1]).reshape(own.shape[1:]))


def rows_of(members: Sequence[Any], size: int) -> np.ndarray:
    """Vectors of `size` numbers below each other; a table without rows where there are none."""
    return np.reshape(members, (len(members), size))
