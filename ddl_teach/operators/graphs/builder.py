"""Writes operation graphs: arrays of nodes that are computed with like arrays of numbers.

A node is its number, so NumPy reshapes, transposes and indexes arrays of nodes, which costs no
operation. `build.multiply(x, y)` broadcasts and makes a node for each element of the result.

Sums are trees, built the way the counting convention says. The two terms that are ready first are
added, their sum becomes a term that is ready one level later, and so on: no tree is done earlier
(Golumbic 1976). A term that comes late joins near the root; of n terms that are all there at once
it makes ceil(log2 n) levels.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from ddl_teach.operators.graphs.graph import CODES, GIVEN, OperationGraph

NONE = -1


class Builder:
    """Builds a graph operation by operation; `graph` returns it when it is complete."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, ...]] = []
        self._count = 0
        self._levels = np.zeros(1024, np.int32)
        self._inputs: dict[str, np.ndarray] = {}

    def input(self, name: str, *shape: int) -> np.ndarray:
        """Numbers that will be given when the graph is evaluated."""
        self._inputs[name] = self.constant(np.zeros(shape))
        return self._inputs[name]

    def constant(self, values: float | np.ndarray) -> np.ndarray:
        """Numbers that are known beforehand."""
        numbers = np.asarray(values, float)
        none = np.full(numbers.shape, NONE)
        return self._append(GIVEN, none, none, numbers, level=0)

    def operate(self, name: str, left: np.ndarray, right: np.ndarray | None = None) -> np.ndarray:
        """One operation for each element, of one or two arrays of nodes."""
        if right is None:
            left, level = np.asarray(left), self._levels[left]
            right = np.full(left.shape, NONE)
        else:
            left, right = np.broadcast_arrays(left, right)
            level = np.maximum(self._levels[left], self._levels[right])
        return self._append(name, left, right, np.zeros(left.shape), level + 1)

    def add(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return self.operate("add", left, right)

    def subtract(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return self.operate("subtract", left, right)

    def multiply(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return self.operate("multiply", left, right)

    def scale(self, nodes: np.ndarray, factor: float) -> np.ndarray:
        """nodes * factor, one operation each."""
        return self.multiply(nodes, self.constant(factor))

    def reduce(self, terms: Sequence[np.ndarray], operation: str = "add") -> np.ndarray:
        """Combine arrays of nodes of one shape element by element, the earliest two first."""
        # The place keeps the heap from comparing arrays, and the tree the same every time.
        ready = [(self.level(term), place, term) for place, term in enumerate(terms)]
        heapq.heapify(ready)
        for place in range(len(terms), 2 * len(terms) - 1):
            (_, _, first), (_, _, other) = heapq.heappop(ready), heapq.heappop(ready)
            both = self.operate(operation, first, other)
            heapq.heappush(ready, (self.level(both), place, both))
        return ready[0][2]

    def total(
        self, nodes: np.ndarray, axes: int | tuple[int, ...] = -1, operation: str = "add"
    ) -> np.ndarray:
        """Combine along axes, as `np.sum` does."""
        axes = (axes,) if isinstance(axes, int) else axes
        moved = np.moveaxis(nodes, axes, range(len(axes)))
        return self.reduce(list(moved.reshape(-1, *moved.shape[len(axes) :])), operation)

    def dot(
        self, first: np.ndarray, other: np.ndarray, axes: int | tuple[int, ...] = -1
    ) -> np.ndarray:
        """Products of two arrays that broadcast, summed along axes."""
        return self.total(self.multiply(first, other), axes)

    def matrix_product(self, first: np.ndarray, other: np.ndarray) -> np.ndarray:
        """one @ other, with any number of axes before the last two."""
        return self.dot(first[..., :, :, None], other[..., None, :, :], axes=-2)

    def level(self, nodes: np.ndarray) -> int:
        """When the last of these is ready."""
        return int(self._levels[nodes].max(initial=0))

    def graph(self, **outputs: np.ndarray) -> OperationGraph:
        """What was built, with these arrays of nodes as its results."""
        columns = zip(*self._parts, strict=True)
        operation, left, right, constant = (np.concatenate(column) for column in columns)
        level = self._levels[: self._count].copy()
        return OperationGraph(
            operation, left, right, level, constant, dict(self._inputs), dict(outputs)
        )

    def _append(
        self, name: str, left: np.ndarray, right: np.ndarray, constant: np.ndarray,
        level: np.ndarray | int,
    ) -> np.ndarray:  # fmt: skip
        nodes = self._count + np.arange(left.size).reshape(left.shape)
        self._count += left.size
        if self._count > len(self._levels):
            # Doubling, or a graph of n nodes would be copied n times.
            grown = np.zeros(2 * self._count, np.int32)
            grown[: len(self._levels)] = self._levels
            self._levels = grown
        self._levels[nodes] = level
        code = np.full(left.size, CODES[name], np.int8)
        columns = (left.astype(np.int32), right.astype(np.int32), constant)
        self._parts.append((code, *(column.ravel() for column in columns)))
        return nodes
