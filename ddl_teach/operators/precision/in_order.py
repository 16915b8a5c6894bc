"""One term after another: n - 1 roundings for the first of them.

    total = total + x_i            error at most about n u, in a depth of n

What to look at: once the total is 2^p times a term, adding the term changes nothing. A sum of ones
in float16 stops at 2048.
"""

from ddl_teach.operators.arrays import Array
from ddl_teach.operators.precision.numbers import zero


def in_order(x: Array) -> Array:
    """The sum over the first axis, every addition rounded to the type of x."""
    total = zero(x)
    for term in x:
        total = total + term
    return total
