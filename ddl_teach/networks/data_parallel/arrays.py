"""Averaging plain arrays: what the other files do to the gradients of a torch network.

average          sum over the ranks / P
weighted         sum over the ranks of (own samples / all samples) times the array
"""

from collections.abc import Sequence

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm


def average(comm: Comm, gradients: Sequence[np.ndarray]) -> None:
    """Every array becomes the average over the ranks, in place."""
    for gradient in gradients:
        ring.allreduce(comm, gradient)
        gradient /= comm.size


def weighted(comm: Comm, gradients: Sequence[np.ndarray], samples: int) -> None:
    """Every array becomes the average over the samples of all ranks; this rank has `samples`."""
    everybodys = np.array([float(samples)])
    ring.allreduce(comm, everybodys)
    for gradient in gradients:
        gradient *= samples / everybodys[0]
        ring.allreduce(comm, gradient)
