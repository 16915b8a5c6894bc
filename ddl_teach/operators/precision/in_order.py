"""One term after another: n - 1 roundings for the first of them.

    total = total + x_i            error at most about n u, in a depth of n

What to look at: once the total is 2^p times a term, adding the term changes nothing. A sum of ones
in float16 stops at 2048.

`wider` adds terms of float16 in float32 and rounds the result once: u of the short format, plus
n u of the long one. Matrix units of GPUs do so at no cost. Micikevicius et al., ICLR 2018.
"""

from ddl_teach.operators.arrays import Array
from ddl_teach.operators.precision.numbers import converted, type_name, zero


def in_order(x: Array) -> Array:
    """The sum over the first axis, every addition rounded to the type of x."""
    total = zero(x)
    for term in x:
        total = total + term
    return total


def wider(x: Array, accumulator: str = "float32") -> Array:
    """The sum over the first axis in another format, rounded to the type of x at the end."""
    zero(x)
    return converted(in_order(converted(x, accumulator)), type_name(x))
