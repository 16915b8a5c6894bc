"""Rails: each GPU of a node has a card of its own, and card r of every node hangs on switch r.

Messages between GPUs of equal number stay on one switch. From rail to rail a message crosses the
spine, to which a rail's switch has nodes / oversubscription links; its packets are spread over
them. Or it first goes inside its node to the GPU on the right rail, as NCCL does (`pxn`).
An all-reduce by parts (`collectives.hierarchical`) sends along rails alone; a ring in the order of
ranks goes from the last rail to the first at every node.
Wang et al., "Rail-only: a low-cost high-performance network for training LLMs with trillion
parameters", HOTI 2024. What to look at: with ranks numbered well, no message needs the spine.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ddl_runtime.topologies.shared_links import Topology


@dataclass(frozen=True)
class Rails(Topology):
    """`nodes` of `gpus` each; a rank is a GPU, and the ranks of a node follow each other."""

    nodes: int
    gpus: int = 8
    oversubscription: float = 1.0
    pxn: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ranks_per_node != 1 or min(self.nodes, self.gpus, self.oversubscription) <= 0:
            raise ValueError("nodes, gpus, oversubscription must be above 0; a rank is a GPU")

    @cached_property
    def hosts(self) -> int:
        return self.nodes * self.gpus

    @property
    def switch_links(self) -> int:
        return 2 * self.gpus

    def node(self, rank: int) -> int:
        return rank // self.gpus

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        rail, last = source % self.gpus, dest % self.gpus
        return () if rail == last else (2 * rail, 2 * last + 1)

    def path(self, source: int, dest: int) -> tuple[int, ...]:
        near = source
        if self.node(source) == self.node(dest):
            return 2 * source, 2 * dest + 1
        inside: tuple[int, ...] = ()
        if self.pxn and source % self.gpus != dest % self.gpus:
            near = self.node(source) * self.gpus + dest % self.gpus
            inside = 2 * source, 2 * near + 1
        spine = (4 * self.hosts + link for link in self.route(near, dest))
        return *inside, 2 * (self.hosts + near), *spine, 2 * (self.hosts + dest) + 1

    def latency(self, source: int, dest: int) -> float:
        inside, spine = super().latency(source, source), self.route(source, dest)
        if self.node(source) == self.node(dest):
            return inside
        if self.pxn and spine:  # first to the GPU on the right rail
            return inside + self.base_latency
        return self.base_latency + self.hop_latency * len(spine)

    def capacities(self) -> np.ndarray:
        capacities = super().capacities()
        capacities[-self.switch_links :] *= self.nodes / self.oversubscription
        return capacities
