"""Torus: a grid of hosts with wrap-around, and short cables only.

Each host has a router with links to both neighbours in every dimension. For d dimensions, size k:

    hosts = k^d          longest route = d * floor(k/2)
    bisection bandwidth = 2 * hosts / k * bandwidth     (one cable, not two, in a ring of size 2)

A message goes all its way in the first dimension, then in the second, and so on, each time the
shorter way round. Half-way round, it goes up from even coordinates and down from odd ones. A ring
of ranks has the wires to itself; a shift by half the ranks crosses the middle with every message.
Dally and Seitz, "The torus routing chip", 1986; Dally and Towles (2004), chapters 5 and 8.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

from ddl_runtime.topologies.shared_links import Topology


@dataclass(frozen=True)
class Torus(Topology):
    """Hosts in a grid of `sizes`, numbered row by row, the last dimension fastest."""

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sizes or any(not isinstance(size, int) or size < 2 for size in self.sizes):
            raise ValueError(
                f"a Torus needs sizes like (4, 4, 2), not {self.sizes!r}: whole numbers of at "
                "least 2, since in a dimension of size 1 a rank has no neighbour"
            )

    @cached_property
    def hosts(self) -> int:
        return prod(self.sizes)

    @property
    def switch_links(self) -> int:
        return 2 * len(self.sizes) * self.hosts

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        links, here, stride = [], source, self.hosts
        for dimension, size in enumerate(self.sizes):
            stride //= size
            at, to = source // stride % size, dest // stride % size
            ahead = (to - at) % size
            upwards = 2 * ahead < size or (2 * ahead == size and at % 2 == 0)
            for _ in range(ahead if upwards else size - ahead):
                links.append(2 * (here * len(self.sizes) + dimension) + (not upwards))
                after = (at + (1 if upwards else -1)) % size
                here += (after - at) * stride
                at = after
        return tuple(links)
