"""Softmax of each row of n numbers: exp(x - max) over its sum.

    forward         5 n - 2     depth 2 L(n) + 3
    input gradient  4 n - 1     depth L(n) + 3

Forward: the maximum (n - 1), differences, exp, the sum (n - 1), quotients. Backwards with the
kept result p: p (g - sum(g p)). What to look at: the maximum must be known before the first exp,
which is why one pass over the row is not enough, unless one mends the sum when a larger number
comes (Milakov & Gimelshein 2018).
"""

from ddl_teach.theory.inputs import count
from ddl_teach.theory.work_depth.counting import WorkDepth, tree_depth


def forward(rows: int, columns: int) -> WorkDepth:
    """Two sums' worth of tree, one after the other."""
    one = WorkDepth(5 * columns - 2, 2 * tree_depth(columns) + 3)
    return one.copies(count("rows", rows))


def input_gradient(rows: int, columns: int) -> WorkDepth:
    """p (g - sum(g p)), row by row."""
    return WorkDepth(4 * columns - 1, tree_depth(columns) + 3).copies(count("rows", rows))
