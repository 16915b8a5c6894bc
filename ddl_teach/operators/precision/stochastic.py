"""Stochastic rounding: up or down with probabilities such that the mean is right.

A number between two neighbours a < x < b of the format becomes b with probability (x - a)/(b - a).
Each rounding errs up to 2 u, but the errors have mean zero and grow like sqrt(n) u instead of n u:
a sum of ones does not stop. Connolly, Higham and Mary, "Stochastic rounding and its probabilistic
backward error analysis", SIAM J. Sci. Comput. 43(1), 2021.
"""

import numpy as np

from ddl_teach.operators.arrays import Array, library
from ddl_teach.operators.precision.numbers import converted, type_name, zero
from ddl_teach.theory.rounding import Format, find_format


def stochastic(x: Array, generator: np.random.Generator) -> Array:
    """The sum over the first axis, in order, every addition rounded up or down by chance."""
    total, into = zero(x), find_format(type_name(x))
    total = np.asarray(converted(total, "float64"))
    for term in np.asarray(converted(x, "float64")):
        total = stochastic_round(total + term, into, generator)
    return converted(library(x).asarray(total), type_name(x))


def stochastic_round(x: np.ndarray, into: Format, generator: np.random.Generator) -> np.ndarray:
    """Float64 numbers rounded to a format's, as float64; beyond the largest to infinity."""
    _, exponent = np.frexp(x)
    # The distance of neighbours; it grows no smaller among the subnormal numbers.
    spacing = np.ldexp(1.0, np.maximum(exponent - 1, into.lowest) - into.significant + 1)
    rounded = np.floor(x / spacing + generator.random(np.shape(x))) * spacing
    return np.where(np.abs(rounded) > into.largest, np.copysign(np.inf, x), rounded)
