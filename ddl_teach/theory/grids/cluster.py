"""Ranks on nodes: how fast one computes, what it can hold, and what a message costs on each axis.

Ranks fill one node after another. Along an axis whose groups fit into a node all messages stay
inside; along the others every ring crosses nodes, and the slowest link sets its pace. Latencies of
the faster links are counted as if they were slow ones too. Every ring has the full rate between
nodes, however many leave a node at once. That favours grids with several rings a node (tensor)
over data parallelism alone, which has one: do not compare grids without this in mind.
What to look at: with 8 ranks a node, tensor 8 stays inside, and then everything else goes out.
"""

from dataclasses import dataclass

from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.inputs import cost, count


@dataclass(frozen=True)
class Cluster:
    """Operations a second that a rank reaches, bytes it holds, seconds and seconds per byte."""

    ranks_per_node: int = 8
    flops: float = 100e12
    memory: float = 80e9
    latency_inside: float = 2e-6
    per_byte_inside: float = 1 / 200e9
    latency_between: float = 5e-6
    per_byte_between: float = 1 / 25e9

    def __post_init__(self) -> None:
        count("ranks_per_node", self.ranks_per_node)
        for name in ("inside", "between"):
            cost(f"latency_{name}", getattr(self, f"latency_{name}"))
            cost(f"per_byte_{name}", getattr(self, f"per_byte_{name}"))

    def link(self, grid: Grid, axis: str) -> tuple[float, float]:
        """Latency and seconds per byte between neighbours along an axis.

        "data" are all ranks that hold the same weights, along context as well.
        """
        first = "context" if axis == "data" else axis
        reach = grid.stride(first) * (grid.replicas if axis == "data" else getattr(grid, axis))
        # Groups of a size that does not divide a node's straddle two of them somewhere.
        if reach <= self.ranks_per_node and self.ranks_per_node % reach == 0:
            return self.latency_inside, self.per_byte_inside
        return self.latency_between, self.per_byte_between
