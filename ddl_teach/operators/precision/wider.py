"""A wider accumulator: the terms are short, their sum is not.

Terms of float16 are added in float32 and the result is rounded once: u of the short format, once,
plus n u of the long one. That is what matrix units of GPUs do inside a product, at no cost; a sum
of ones then stops at 16,777,216 instead of 2048. Micikevicius et al., ICLR 2018.
"""

from ddl_teach.operators.arrays import Array
from ddl_teach.operators.precision.in_order import in_order
from ddl_teach.operators.precision.numbers import converted, type_name, zero


def wider(x: Array, accumulator: str = "float32") -> Array:
    """The sum over the first axis in another format, rounded to the type of x at the end."""
    zero(x)
    return converted(in_order(converted(x, accumulator)), type_name(x))
