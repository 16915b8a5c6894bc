"""Trees of operations, built the way the counting convention says: who came first goes first.

The two terms that are ready first are added, their sum becomes a term that is ready one level
later, and so on: no tree is done earlier (Golumbic 1976). Of n terms that are all there at once
it makes ceil(log2 n) levels. What to look at: a term that comes late joins near the root, so it
delays nobody but itself.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from ddl_teach.operators.graphs.builder import Builder


def reduce(build: Builder, terms: Sequence[np.ndarray], operation: str = "add") -> np.ndarray:
    """Combine arrays of nodes of one shape element by element, the earliest two first."""
    # The running number keeps the heap from comparing arrays, and the tree the same every time.
    ready = [(build.level(term), place, term) for place, term in enumerate(terms)]
    heapq.heapify(ready)
    for place in range(len(terms), 2 * len(terms) - 1):
        (_, _, one), (_, _, other) = heapq.heappop(ready), heapq.heappop(ready)
        both = build.operate(operation, one, other)
        heapq.heappush(ready, (build.level(both), place, both))
    return ready[0][2]


def total(
    build: Builder, nodes: np.ndarray, axes: int | tuple[int, ...] = -1, operation: str = "add"
) -> np.ndarray:
    """Combine along axes, as `np.sum` does."""
    axes = (axes,) if isinstance(axes, int) else axes
    moved = np.moveaxis(nodes, axes, range(len(axes)))
    return reduce(build, list(moved.reshape(-1, *moved.shape[len(axes) :])), operation)


def dot(
    build: Builder, one: np.ndarray, other: np.ndarray, axes: int | tuple[int, ...] = -1
) -> np.ndarray:
    """Products of two arrays that broadcast, summed along axes."""
    return total(build, build.multiply(one, other), axes)


def matrix_product(build: Builder, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """one @ other, with any number of axes before the last two."""
    return dot(build, one[..., :, :, None], other[..., None, :, :], axes=-2)
