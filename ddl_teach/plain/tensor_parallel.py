"""Tensor parallelism: two layers, the first split by columns and the second by rows.

    y = relu(x A) B = sum over r of relu(x A_r) B_r

Rank r has some columns of A, A_r, and the same rows of B, B_r. It computes its term alone; only
the sum needs messages.
Cost: for x and y of n bytes each one all-reduce forwards, of y, and one backwards, of the gradient
of x. By the ring each rank sends 2 (P-1)/P n bytes in each, however wide the middle is.
Shoeybi et al., "Megatron-LM: training multi-billion parameter language models using model
parallelism", 2019.
What to look at: with A split by rows the sum would have to come before the relu, because
relu(a + b) is not relu(a) + relu(b).
"""

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allreduce


def forward(
    comm: Comm, x: np.ndarray, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return y on all ranks, and this rank's hidden numbers. `a` and `b` are its parts."""
    hidden = np.maximum(x @ a, 0)
    y = hidden @ b
    allreduce(comm, y)
    return y, hidden


def backward(
    comm: Comm, x: np.ndarray, a: np.ndarray, b: np.ndarray, hidden: np.ndarray, dy: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients of x, whole, and of this rank's `a` and `b`."""
    db = hidden.T @ dy
    dhidden = dy @ b.T * (hidden > 0)
    da = x.T @ dhidden
    dx = dhidden @ a.T
    allreduce(comm, dx)  # x was used on all ranks: its gradient is the sum of theirs
    return dx, da, db
