"""Three-dimensional matrix product: ranks form a grid, and each multiplies one block by another.

    C[i, j] = sum over k of A[i, k] B[k, j]        rank (i, j, k) computes one term

Block A[i, k] is needed by all ranks (i, *, k), and each of them begins with some of its rows. They
gather it, and (*, j, k) gather B[k, j]; then (i, j, *) sum their terms, and each keeps some rows.
Cost for n x n matrices on a cube of P ranks: n^3 / P multiplications, and each rank sends
3 (1 - P^(-1/3)) n^2 / P^(2/3) numbers. A split along one axis sends (1 - 1/P) n^2.
Agarwal, Balle, Gustavson, Joshi and Palkar, "A three-dimensional approach to parallel matrix
multiplication", 1995.
What to look at: for a layer y = x W the grid (P, 1, 1) is data parallelism with sharded weights;
(1, P, 1) splits W by columns, and (1, 1, P) by rows.
"""

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allgather, reduce_scatter


def multiply(comm: Comm, a: np.ndarray, b: np.ndarray, grid: tuple[int, int, int]) -> np.ndarray:
    """Return chunk k of the rows of block (i, j) of the product, on rank (i, j, k).

    `a` is room for block (i, k), with chunk j of its rows filled in. `b` is room for block (k, j),
    with chunk i filled in.
    """
    _, q, r = grid
    i, j, k = comm.rank // r // q, comm.rank // r % q, comm.rank % r
    with_same_a = comm.split(i * r + k, j)
    with_same_b = comm.split(j * r + k, i)
    with_same_c = comm.split(i * q + j, k)
    allgather(with_same_a, a)
    allgather(with_same_b, b)
    return reduce_scatter(with_same_c, a @ b)
