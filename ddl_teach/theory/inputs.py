"""What every formula checks before it computes: counts are counts, costs are not negative.

The formulas divide a vector into ``nbytes / ranks`` bytes as real numbers. A run that cuts 10
elements on 4 ranks into 3, 3, 2 and 2 lies between its own size and the next that divides.
"""

import numpy as np

from ddl_runtime.core.checks import amount, whole_number

Bytes = float | np.ndarray
Seconds = float | np.ndarray


def count(name: str, value: int, least: int = 1) -> int:
    """`value` as an int of at least `least`, or an error that says what `name` has to be."""
    return whole_number(value, name, least)


def cost(name: str, value: float) -> float:
    """`value` as a finite float of at least 0, or an error that names `name`."""
    return amount(value, name)


def byte_count(value: Bytes) -> Bytes:
    """`value` as a float, or as an array of floats: finite and at least 0."""
    try:
        sizes = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"nbytes is a number or an array of numbers, not {value!r}") from error
    wrong = ~np.isfinite(sizes) | (sizes < 0)
    if wrong.any():
        raise ValueError(
            f"nbytes must be finite and 0 or more, but holds {float(sizes[wrong].flat[0])}"
        )
    return sizes if sizes.ndim else float(sizes)


def checked(ranks: int, nbytes: Bytes) -> Bytes:
    """Check a formula's arguments; give back nbytes as a float or as an array of floats."""
    count("ranks", ranks)
    return byte_count(nbytes)


def floor_log2(ranks: int) -> int:
    """The exponent of the largest power of two that is not above `ranks`."""
    return int(ranks).bit_length() - 1


def ceil_log2(ranks: int) -> int:
    """How many times a set must double to grow from 1 to at least `ranks`."""
    return (int(ranks) - 1).bit_length()


def power_of_two(algorithm: str, ranks: int) -> None:
    """Refuse rank counts that are no power of two, where the algorithm has no step for them."""
    if ranks != 2 ** floor_log2(ranks):
        raise ValueError(
            f"{algorithm} needs a power of two as the number of ranks; {ranks} is none. "
            f"Try {2 ** floor_log2(ranks)} or {2 ** ceil_log2(ranks)}, or a ring."
        )


def larger(first: Seconds, other: Seconds) -> Seconds:
    """The larger of two times, size by size; a plain float where both are single times."""
    both = np.maximum(first, other)
    return both if both.ndim else float(both)
