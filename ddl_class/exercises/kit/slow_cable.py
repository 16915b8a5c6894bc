"""The machine of unit 20's puzzle: four nodes of four ranks, and one of the cables is slow."""

from dataclasses import dataclass

import numpy as np

from ddl_runtime.topologies.shared_links import Topology


@dataclass(frozen=True)
class OneSlowCable(Topology):
    """Nodes around a switch that never blocks; the cable of the last node is `times` as slow."""

    nodes: int = 4
    times: float = 10.0

    @property
    def hosts(self) -> int:
        return self.nodes

    @property
    def switch_links(self) -> int:
        return 0

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        return ()

    def capacities(self) -> np.ndarray:
        capacities = super().capacities()
        last = 2 * self.most_ranks + 2 * (self.hosts - 1)
        capacities[last : last + 2] /= self.times
        return capacities


# Each message costs its sender and its receiver 2 µs of their own time.
SLOW_CABLE = OneSlowCable(
    ranks_per_node=4, base_latency=5e-6, bandwidth=1e9, local_latency=1e-6,
    local_bandwidth=8e9, overhead=2e-6,
)  # fmt: skip
