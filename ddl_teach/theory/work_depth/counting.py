"""Work and depth of what everything else is made of: element-wise operations, sums, dot products.

Work W is the number of scalar operations, depth D the length of the longest chain of them in
which each needs the one before. One processor needs W steps, no number of processors fewer than
D: W / D is the *average parallelism*. What to look at: of a sum of n numbers n is in the work
itself, but only its logarithm is in the depth.

Blelloch, "Programming parallel algorithms", CACM 39(3), 1996. Ben-Nun & Hoefler, ACM CSUR 52(4),
2019, sections 2.3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any

from ddl_teach.theory.inputs import ceil_log2, count


@dataclass(frozen=True)
class WorkDepth:
    """How many scalar operations there are, and how many of them wait for each other."""

    work: int
    depth: int

    @property
    def parallelism(self) -> float:
        """W / D: how many processors have something to do, on average over the fastest run."""
        return self.work / self.depth if self.depth else 0.0

    def then(self, other: WorkDepth) -> WorkDepth:
        """This, and then `other`, whose longest chain continues this one's."""
        return WorkDepth(self.work + other.work, self.depth + other.depth)

    def beside(self, other: WorkDepth) -> WorkDepth:
        """This and `other`, neither of which needs the other."""
        return WorkDepth(self.work + other.work, max(self.depth, other.depth))

    def copies(self, number: int) -> WorkDepth:
        """So many independent copies of this."""
        return WorkDepth(number * self.work, self.depth if number else 0)

    def lower_bound(self, processors: int) -> int:
        """No schedule on `processors` processors takes fewer steps: max(ceil(W / p), D)."""
        return max(-(-self.work // count("processors", processors)), self.depth)

    def greedy_bound(self, processors: int) -> int:
        """No greedy schedule takes more steps: floor((W - D) / p) + D.

        A step either keeps all processors busy, or it takes an operation from every longest chain
        that is left. Graham 1966; Brent, "The parallel evaluation of general arithmetic
        expressions", JACM 21(2), 1974.
        """
        return (self.work - self.depth) // count("processors", processors) + self.depth


NOTHING = WorkDepth(0, 0)


def tree_depth(numbers: int) -> int:
    """The depth of the sum of `numbers` numbers that are all there at once: ceil(log2 n)."""
    return ceil_log2(count("numbers", numbers))


def joined(ready: Iterable[tuple[int, int]]) -> int:
    """The level at which a sum is done whose numbers come one after another: ceil(log2(sum of
    2^level)).

    `ready` are pairs (level, how many numbers are there from that level on). A sum takes the two
    numbers that came first, and again; nothing does better (Golumbic 1976).
    """
    return ceil_log2(sum(many << level for level, many in ready))


def elementwise(elements: int, operations: int = 1) -> WorkDepth:
    """A chain of `operations` operations on each of many numbers."""
    return WorkDepth(count("elements", elements) * operations, operations)


def summation(numbers: int) -> WorkDepth:
    """A tree: n - 1 additions, depth ceil(log2 n)."""
    return WorkDepth(count("numbers", numbers) - 1, tree_depth(numbers))


def dot(length: int) -> WorkDepth:
    """All products at once, then their sum: 2n - 1 operations, depth 1 + ceil(log2 n)."""
    return elementwise(length).then(summation(length))


def matrix_product(rows: int, inner: int, columns: int, batch: int = 1) -> WorkDepth:
    """A dot product for every number of the result, all at once: depth as of one of them."""
    return dot(inner).copies(batch * rows * columns)


Count = Callable[..., WorkDepth]


@dataclass(frozen=True)
class Operator:
    """The passes of an operator. All take its sizes by the same names, and refuse what is none."""

    forward: Count
    input_gradient: Count

    def __post_init__(self) -> None:
        for name, formula in list(vars(self).items()):
            object.__setattr__(self, name, _of_sizes(formula))


@dataclass(frozen=True)
class Learning(Operator):
    """An operator with something to learn."""

    parameter_gradient: Count


def _of_sizes(formula: Count) -> Count:
    names = signature(formula)

    @wraps(formula)
    def checked(*sizes: Any, **more: Any) -> WorkDepth:
        for name, size in names.bind(*sizes, **more).arguments.items():
            if isinstance(size, int | float) and not isinstance(size, bool):
                count(name, size)  # type: ignore[arg-type]  # a float is refused there
        return formula(*sizes, **more)

    return checked
