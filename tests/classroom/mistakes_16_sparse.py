"""The usual mistakes with a sparse all-reduce, and words of the message for each."""

from collections.abc import Callable

import numpy as np

from ddl_class.exercises.unit_16.judges import merge, swapped
from ddl_teach import Comm

Lists = tuple[np.ndarray, np.ndarray]


def swap(comm: Comm, x: np.ndarray, partner: int, count: int) -> np.ndarray:
    arrived = np.empty(count, x.dtype)
    comm.sendrecv(x, partner, arrived, partner)
    return arrived


def sparse_sum(
    comm: Comm, indices: np.ndarray, values: np.ndarray, *, add: Callable = merge,
    lengths: bool = True, steps: int = 99, keep: bool = True, first: bool = False,
    twice: bool = False,
) -> Lists:  # fmt: skip
    """Right, but for what the arguments say."""
    own, distance = (indices, values), 1
    while distance < comm.size and steps:
        partner = comm.rank ^ distance
        out = own if first else (indices, values)
        count = len(out[0])
        if lengths:
            count = int(swap(comm, np.array([count]), partner, 1)[0])
        others, more = (swap(comm, x, partner, count) for x in out)
        for _ in range(1 + twice):
            total = add(indices, values, others, more)
            indices, values = total if keep else (indices, values)
        distance, steps = 2 * distance, steps - 1
    return indices, values


def with_settings(**settings: object) -> Callable[..., Lists]:
    def mistaken(comm: Comm, indices: np.ndarray, values: np.ndarray) -> Lists:
        return sparse_sum(comm, indices, values, **settings)

    return mistaken


def one_after_the_other(
    indices: np.ndarray, values: np.ndarray, others: np.ndarray, more: np.ndarray
) -> Lists:
    return np.concatenate([indices, others]), np.concatenate([values, more])


def backwards(*lists: np.ndarray) -> Lists:
    indices, values = merge(*lists)
    return indices[::-1].copy(), values[::-1].copy()


def nothing_returned(comm: Comm, indices: np.ndarray, values: np.ndarray) -> None:
    swapped(comm, indices, values)


def one_array(comm: Comm, indices: np.ndarray, values: np.ndarray) -> np.ndarray:
    return swapped(comm, indices, values)[1]


def from_everybody(comm: Comm, indices: np.ndarray, values: np.ndarray) -> Lists:
    total = indices, values
    for distance in range(1, comm.size):
        partner = comm.rank ^ distance
        count = int(swap(comm, np.array([len(indices)]), partner, 1)[0])
        total = merge(*total, *(swap(comm, x, partner, count) for x in (indices, values)))
    return total


MISTAKES = [
    ("16.sparse_sum", with_settings(lengths=False), "send the number of entries first"),
    ("16.sparse_sum", with_settings(keep=False), "only its own entries"),
    ("16.sparse_sum", with_settings(steps=1), "the entries of two ranks"),
    ("16.sparse_sum", with_settings(first=True), "exchange the sum so far"),
    ("16.sparse_sum", with_settings(twice=True), "in it twice"),
    ("16.sparse_sum", with_settings(add=one_after_the_other), "np.concatenate only puts"),
    ("16.sparse_sum", with_settings(add=backwards), "do not ascend, each once"),
    ("16.sparse_sum", nothing_returned, "returns None"),
    ("16.sparse_sum", one_array, "return two arrays"),
    ("16.sparse_sum", from_everybody, "the rank 1, 2, 4"),
]
