"""Formats, scales and accumulators: right answers, which take the learner's place in unit 22
until theirs are right."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ddl_teach.operators.precision.eight_bits import E4M3, cast

LARGEST = 448.0
Cast = Callable[[np.ndarray], np.ndarray]
to_e4m3: Cast = partial(cast, kind=E4M3)


def four_bits(x: np.ndarray) -> np.ndarray:
    """`x` with four significant bits, whatever its size."""
    _, exponent = np.frexp(x)
    spacing = np.ldexp(1.0, exponent - 4)
    return np.asarray(np.round(x / spacing) * spacing)


def in_blocks(x: np.ndarray, block: int, cast: Cast = to_e4m3) -> np.ndarray:
    """What is left of `x` with a scale of its own for each block."""
    rows = x.reshape(-1, block)
    amax = np.abs(rows).max(axis=1, keepdims=True)
    scale = LARGEST / np.where(amax > 0, amax, 1)
    return np.asarray(cast(rows * scale) / scale).reshape(x.shape)


def short_add(total: float, term: float) -> float:
    """A sum of which an accumulator keeps eight bits."""
    _, exponent = np.frexp(total + term)
    return float(np.ldexp(np.trunc(np.ldexp(total + term, 8 - exponent)), exponent - 8))


def handed_on(
    terms: np.ndarray, every: int, add: Callable[[float, float], float] = short_add
) -> float:
    """The sum, of which a short accumulator never holds more than `every` terms."""
    total = 0.0
    for begin in range(0, len(terms), every):
        part = 0.0
        for term in terms[begin : begin + every]:
            part = add(part, term)
        total += part
    return total
