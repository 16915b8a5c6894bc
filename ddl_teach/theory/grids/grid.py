"""A grid of ranks: every rank has a coordinate on each of four axes.

Ranks are numbered with tensor running fastest, then context, then data, then pipeline: whoever
talks most sits closest together, on one node if it fits, and the ends of the pipeline, which talk
least, sit farthest apart (Narayanan et al., 2021).
What to look at: how few grids there are. P = 2^k has (k+1)(k+2)(k+3)/6 of them, 286 for 1,024.

Ranks fill one node after another. Along an axis whose groups fit into a node all messages stay
inside; along the others every ring crosses nodes, and the slowest link sets its pace. All rings
that leave a node share its cards: along an axis there are as many as the product of the axes
before it, at most one for each rank (Singh et al., "A 4D hybrid algorithm to scale parallel
training to thousands of GPUs", 2023). What to look at: with 8 ranks a node, tensor 8 stays inside,
and then everything else goes out, by eight rings with an eighth of the bytes and of the rate each.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ddl_teach.theory.inputs import cost, count

AXES = ("tensor", "context", "data", "pipeline")  # the fastest running first


@dataclass(frozen=True)
class GridPosition:
    """Where a rank sits."""

    data: int = 0
    pipeline: int = 0
    tensor: int = 0
    context: int = 0


@dataclass(frozen=True)
class Grid:
    """How many ranks there are along each axis."""

    data: int = 1
    pipeline: int = 1
    tensor: int = 1
    context: int = 1

    def __post_init__(self) -> None:
        for axis in AXES:
            count(axis, getattr(self, axis))

    @property
    def ranks(self) -> int:
        return prod(getattr(self, axis) for axis in AXES)

    @property
    def replicas(self) -> int:
        """Ranks that hold the same weights: those along data and context."""
        return self.data * self.context

    def stride(self, axis: str) -> int:
        """From a rank to its neighbour along this axis."""
        return prod(getattr(self, faster) for faster in AXES[: AXES.index(axis)])

    def place(self, rank: int) -> GridPosition:
        """Where this rank sits."""
        if not 0 <= rank < self.ranks:
            raise ValueError(f"{self} has the ranks 0 to {self.ranks - 1}, not {rank}")
        return GridPosition(**{
            axis: rank // self.stride(axis) % getattr(self, axis) for axis in AXES
        })  # fmt: skip

    def rank(self, place: GridPosition) -> int:
        """Who sits there."""
        return sum(getattr(place, axis) * self.stride(axis) for axis in AXES)

    def axis_between(self, rank: int, other: int) -> str | None:
        """The axis along which two ranks are neighbours or more; None if on more than one."""
        first, two = self.place(rank), self.place(other)
        differ = [axis for axis in AXES if getattr(first, axis) != getattr(two, axis)]
        return differ[0] if len(differ) == 1 else None

    def __str__(self) -> str:
        sizes = [f"{axis} {size}" for axis, size in vars(self).items() if size > 1]
        return " x ".join(sizes) or "one rank"


@dataclass(frozen=True)
class Cluster:
    """Operations a second that a rank reaches, bytes it holds, seconds and seconds per byte.

    A node has `cards`, each with a cable of its own into a switch; if all cards send at once, the
    switch passes on 1 / `oversubscription` of it. A single message can use all cards of its node.
    """

    ranks_per_node: int = 8
    flops: float = 100e12
    memory: float = 80e9
    latency_inside: float = 2e-6
    per_byte_inside: float = 1 / 200e9
    latency_between: float = 5e-6
    per_byte_between: float = 1 / 25e9  # of one card
    cards: int = 1
    oversubscription: float = 1.0

    def __post_init__(self) -> None:
        count("ranks_per_node", self.ranks_per_node)
        count("cards", self.cards)
        if cost("oversubscription", self.oversubscription) < 1:
            raise ValueError(f"oversubscription is 1 or more, not {self.oversubscription}")
        for name in ("inside", "between"):
            cost(f"latency_{name}", getattr(self, f"latency_{name}"))
            cost(f"per_byte_{name}", getattr(self, f"per_byte_{name}"))

    def link(self, grid: Grid, axis: str) -> tuple[float, float]:
        """Latency and seconds per byte between neighbours along an axis; "data" are all ranks that
        hold the same weights, along context as well."""
        first = "context" if axis == "data" else axis
        reach = grid.stride(first) * (grid.replicas if axis == "data" else getattr(grid, axis))
        # Groups of a size that does not divide a node's straddle two of them somewhere.
        if reach <= self.ranks_per_node and self.ranks_per_node % reach == 0:
            return self.latency_inside, self.per_byte_inside
        return self.latency_between, self.rings(grid, first) * self.per_byte_of_node

    def hop(self, grid: Grid, stage: int) -> tuple[float, float]:
        """Latency and seconds per byte from this stage of the pipeline to the next."""
        stride, each = grid.stride("pipeline"), self.ranks_per_node
        if each % stride == 0 and (stage + 1) * stride % each:
            return self.latency_inside, self.per_byte_inside
        return self.latency_between, self.rings(grid, "pipeline") * self.per_byte_of_node

    def rings(self, grid: Grid, axis: str) -> int:
        """How many rings along this axis leave a node, each once."""
        return min(self.ranks_per_node, grid.stride(axis))

    @property
    def per_byte_of_node(self) -> float:
        """Seconds per byte of all that leaves a node by its cards."""
        return self.oversubscription * self.per_byte_between / self.cards


def every(ranks: int) -> Iterator[Grid]:
    """All grids of so many ranks."""
    for tensor in divisors(ranks):
        for context in divisors(ranks // tensor):
            for data in divisors(ranks // tensor // context):
                yield Grid(data, ranks // tensor // context // data, tensor, context)


def divisors(number: int) -> list[int]:
    """All whole numbers that divide it."""
    return [divisor for divisor in range(1, count("ranks", number) + 1) if number % divisor == 0]
