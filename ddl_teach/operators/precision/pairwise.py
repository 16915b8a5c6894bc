"""Neighbours first, then their sums: a tree of ceil(log2 n) levels.

No term passes more than log2 n roundings, so the error is at most about u log2 n, for the same
n - 1 additions; and the additions of a level do not wait for each other. NumPy's and torch's own
sums do this in blocks. McCracken and Dorn, 1964; Higham 1993.
"""

from ddl_teach.operators.arrays import Array, library
from ddl_teach.operators.precision.numbers import zero


def pairwise(x: Array) -> Array:
    """The sum over the first axis, every addition rounded to the type of x."""
    nothing = zero(x)
    while len(x) > 1:
        even = len(x) // 2 * 2
        x = library(x).concatenate([x[0:even:2] + x[1:even:2], x[even:]])
    return x[0] if len(x) else nothing
