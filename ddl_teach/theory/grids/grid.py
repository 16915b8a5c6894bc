"""A grid of ranks: every rank has a coordinate on each of four axes.

Ranks are numbered with tensor running fastest, then context, data and pipeline. So ranks that
exchange most bytes are neighbours, on one node if it fits, and stages of the pipeline, which
exchange least, are farthest apart (Narayanan et al., 2021). Ranks fill one node after another.
Along an axis whose groups fit into a node all messages stay inside. Along the others every ring
crosses nodes: the slowest link sets its pace, and the rings that leave a node share its cards. An
axis has as many of them as the product of the axes before it (Singh et al., "A 4D hybrid algorithm
to scale parallel training to thousands of GPUs", 2023). What to look at: how few grids there are.
P = 2^k has (k+1)(k+2)(k+3)/6 of them, 286 for 1,024. With 8 ranks a node, tensor 8 stays inside;
everything else then goes out by eight rings, each with an eighth of the bytes and of the rate.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from ddl_teach.theory.inputs import count
from ddl_teach.theory.machine import Cluster, Link

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
        """The distance in ranks to the neighbour along this axis."""
        return prod(getattr(self, faster) for faster in AXES[: AXES.index(axis)])

    def place(self, rank: int) -> GridPosition:
        """Where this rank sits."""
        if not 0 <= rank < self.ranks:
            raise ValueError(f"rank {rank} does not exist: {self} has ranks 0 to {self.ranks - 1}")
        return GridPosition(**{
            axis: rank // self.stride(axis) % getattr(self, axis) for axis in AXES
        })  # fmt: skip

    def rank(self, place: GridPosition) -> int:
        """The rank at this place."""
        return sum(getattr(place, axis) * self.stride(axis) for axis in AXES)

    def axis_between(self, rank: int, other: int) -> str | None:
        """The axis along which two ranks differ; None if they differ along several."""
        first, two = self.place(rank), self.place(other)
        differ = [axis for axis in AXES if getattr(first, axis) != getattr(two, axis)]
        return differ[0] if len(differ) == 1 else None

    def link(self, cluster: Cluster, axis: str) -> Link:
        """The link between neighbours along an axis; "data" means all ranks with the same weights,
        so those along context too."""
        first = "context" if axis == "data" else axis
        ranks = self.replicas if axis == "data" else getattr(self, axis)
        reach, each = self.stride(first) * ranks, cluster.ranks_per_node
        # Groups of a size that does not divide a node's straddle two of them somewhere.
        if reach <= each and each % reach == 0:
            return cluster.inside
        # A ring leaves each node once. The slowest hop sets the pace; latencies add up around it.
        outside = min(ranks, -(-reach // each)) / ranks
        late = outside * cluster.between.latency + (1 - outside) * cluster.inside.latency
        return replace(cluster.out(self.rings(cluster, first)), latency=late)

    def hop(self, cluster: Cluster, stage: int) -> Link:
        """The link from this stage of the pipeline to the next."""
        stride, each = self.stride("pipeline"), cluster.ranks_per_node
        if each % stride == 0 and (stage + 1) * stride % each:
            return cluster.inside
        return cluster.out(self.rings(cluster, "pipeline"))

    def nodes_of_stages(self, cluster: Cluster) -> list[int]:
        """The node on which each stage begins; a stage larger than a node has nodes of its own."""
        stride = self.stride("pipeline")
        return [stage * stride // cluster.ranks_per_node for stage in range(self.pipeline)]

    def rings(self, cluster: Cluster, axis: str) -> int:
        """How many rings along this axis leave a node, each once."""
        return min(cluster.ranks_per_node, self.stride(axis))

    def __str__(self) -> str:
        sizes = [f"{axis} {size}" for axis, size in vars(self).items() if size > 1]
        return " x ".join(sizes) or "one rank"


def every(ranks: int) -> Iterator[Grid]:
    """All grids of `ranks` ranks."""
    for tensor in divisors(ranks):
        for context in divisors(ranks // tensor):
            for data in divisors(ranks // tensor // context):
                yield Grid(data, ranks // tensor // context // data, tensor, context)


def divisors(number: int) -> list[int]:
    """All whole numbers that divide it."""
    return [divisor for divisor in range(1, count("ranks", number) + 1) if number % divisor == 0]
