"""Wrong all-reduces for the puzzle of unit 19: what is wrong, and what each makes of the vectors.

Each takes a row of whole numbers for each rank, and returns what every rank has at the end. They
are models of bugs that real all-reduces have had: nothing is sent here.
"""

from collections.abc import Callable, Sequence

import numpy as np

Rows = np.ndarray
Test = Sequence[Sequence[int]]
"""The vectors of all ranks."""


def right(x: Rows) -> Rows:
    """The sum, on every rank."""
    return np.tile(x.sum(axis=0), (len(x), 1))


def escaped(tests: Sequence[Test]) -> list[str]:
    """What is wrong with those that none of these tests catches."""
    rows = [np.array(test, dtype=object).reshape(len(test), -1) for test in tests]
    return [
        what for what, wrong in WRONG.items() if all((wrong(x) == right(x)).all() for x in rows)
    ]


def numbers_of(tests: Sequence[Test]) -> int:
    """How many numbers the tests have in all."""
    return sum(len(vector) for test in tests for vector in test)


def _kept(x: Rows, where: Rows) -> Rows:
    """The sum, but where ranks keep what they had."""
    return np.where(where, x, right(x))


def _core(x: Rows) -> int:
    """The largest power of two of ranks."""
    return 1 << (len(x).bit_length() - 1)


def _places(x: Rows) -> tuple[Rows, Rows]:
    """The rank and the place of each number."""
    ranks, places = np.indices(x.shape)
    return np.asarray(ranks), np.asarray(places)


def _neighbours(x: Rows) -> Rows:
    others = [x] if len(x) == 1 else [x, np.roll(x, 1, axis=0)]
    return np.asarray(sum(others if len(x) < 3 else [*others, np.roll(x, -1, axis=0)]))


def _swapped(x: Rows) -> Rows:
    result = right(x)
    if x.shape[1] % 2 == 0:
        result[:, [-2, -1]] = result[:, [-1, -2]]
    return result


def _second_extra(x: Rows) -> Rows:
    extra = _core(x) + 1
    return np.asarray(right(x) - (x[extra] if extra < len(x) else 0))


def _first_of_chunks(x: Rows) -> Rows:
    chunk = -(-x.shape[1] // len(x))
    return _kept(x, _places(x)[1] % chunk > 0)


WRONG: dict[str, Callable[[Rows], Rows]] = {
    "the last rank is forgotten": lambda x: right(x) - x[-1],
    "the vector of rank 0 counts twice": lambda x: right(x) + x[0],
    "a maximum, not a sum": lambda x: np.tile(x.max(axis=0), (len(x), 1)),
    "a mean, not a sum": lambda x: right(x) / len(x),
    "only rank 0 gets the sum": lambda x: _kept(x, _places(x)[0] > 0),
    "signs are lost": lambda x: right(abs(x)),
    "sums are kept in 8 bits": lambda x: (right(x) + 128) % 256 - 128,
    "sums are kept in single precision": lambda x: (
        right(x).astype(float).astype(np.float32).astype(float)
    ),
    "one rank alone gets zeros": lambda x: right(x) * (len(x) > 1),
    "ranks beyond a power of two get nothing": lambda x: _kept(x, _places(x)[0] >= _core(x)),
    "the second rank beyond a power of two is not added": _second_extra,
    "only neighbours in the ring are added": _neighbours,
    "fewer numbers than ranks: nothing is added": lambda x: _kept(
        x, np.full(x.shape, 1 < x.shape[1] < len(x))
    ),
    "what is left of n / P is not added": lambda x: _kept(
        x, _places(x)[1] >= x.shape[1] // len(x) * len(x)
    ),
    "only the first number of each chunk is added": _first_of_chunks,
    "an even number of numbers: the last two are swapped": _swapped,
}
