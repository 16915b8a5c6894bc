"""Stochastic rounding: up or down with probabilities such that the mean is right.

A number between two neighbours a < x < b of the format becomes b with probability (x - a)/(b - a).
Each rounding errs up to 2 u, but the errors have mean zero and grow like sqrt(n) u instead of n u:
a sum of ones does not stop. Connolly, Higham and Mary, "Stochastic rounding and its probabilistic
backward error analysis", SIAM J. Sci. Comput. 43(1), 2021.
"""

import numpy as np

from ddl_teach.operators.arrays import Array, library
from ddl_teach.operators.precision.eight_bits import cast
from ddl_teach.operators.precision.numbers import converted, type_name, zero


def stochastic(x: Array, generator: np.random.Generator) -> Array:
    """The sum over the first axis, in order, every addition rounded up or down by chance."""
    total = np.asarray(converted(zero(x), "float64"))
    for term in np.asarray(converted(x, "float64")):
        draws = generator.random(total.shape)
        total = cast(np.asarray(total + term), type_name(x), draws=draws)
    return converted(library(x).asarray(total), type_name(x))
