"""Winograd's transforms for any tile, by Toom and Cook, in exact fractions.

A filter of r values and a row of m values are polynomials; their product has m + r - 1
coefficients, and is known from its values at m + r - 1 points. A value of the product costs one
multiplication: that of the factors' values there. So a product of polynomials is

    C [(E_r filter) * (E_m row)],   E: powers of the points,   C: Lagrange's interpolation.

A convolution layer computes the filter's *correlation* with its inputs. The same three matrices,
transposed, give m outputs of it from m + r - 1 inputs:

    y = E_m^T [(E_r filter) * (C^T x)]  =  A^T [(G w) * (B^T x)]

Toom 1963; Cook 1966; Winograd, "Arithmetic complexity of computations", 1980. The powers of the
points 0, 1, -1, 2, -2, ... and infinity grow with the tile, and so does the error.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import prod

import numpy as np


@cache
def matrices(outputs: int, taps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """B^T, G and A^T of F(outputs, taps): arrays of exact fractions.

    >>> for matrix in matrices(2, 3):
    ...     print(matrix.astype(str))
    """
    finite = points(outputs + taps - 2)
    # Lagrange's polynomial of a point is zero at all others; what it is at its own point divides
    # the filter, so that the data's transform, which is made more often, stays whole numbers.
    others = [[point - other for other in finite if other != point] for point in finite]
    data = [[*with_roots([o for o in finite if o != point]), 0] for point in finite]
    kernel = [powers(point, taps) / prod(own) for point, own in zip(finite, others, strict=True)]
    output = [powers(point, outputs) for point in finite]
    # At infinity a polynomial's value is its leading coefficient.
    last = [with_roots(finite), leading(taps), leading(outputs)]
    rows = [np.array([*part, end]) for part, end in zip((data, kernel, output), last, strict=True)]
    return rows[0], rows[1], rows[2].T


def points(count: int) -> list[Fraction]:
    """0, then 1, -1, 2, -2, 1/2, -1/2, 3, -3, ...: small powers, and each with its negative."""
    sizes = [Fraction(size) ** sign for size in range(1, count + 2) for sign in (1, -1)]
    return [Fraction(0), *(sign * size for size in sizes[1:] for sign in (1, -1))][:count]


def powers(point: Fraction, length: int) -> np.ndarray:
    """1, point, point^2, ...: what turns coefficients into the value at the point."""
    return np.array([point**exponent for exponent in range(length)])


def leading(length: int) -> np.ndarray:
    """Picks the last of `length` coefficients."""
    return np.array([Fraction(place == length - 1) for place in range(length)])


def with_roots(roots: Sequence[Fraction]) -> list[Fraction]:
    """Coefficients, the lowest first, of the polynomial that is zero there and nowhere else."""
    coefficients = [Fraction(1)]
    for root in roots:
        pairs = zip([0, *coefficients], [*coefficients, 0], strict=True)
        coefficients = [higher - root * lower for higher, lower in pairs]
    return coefficients
