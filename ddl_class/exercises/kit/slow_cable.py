"""The machine of unit 20's puzzle: four nodes of four ranks, and one of the cables is slow."""

from dataclasses import dataclass

import numpy as np

from ddl_runtime.topologies.shared_links import Star


@dataclass(frozen=True)
class OneSlowCable(Star):
    """A star with the cable of the last node `times` as slow, both ways."""

    times: float = 10.0

    def capacities(self) -> np.ndarray:
        capacities = super().capacities()
        last = 2 * self.most_ranks + 2 * (self.hosts - 1)
        capacities[last : last + 2] /= self.times
        return capacities


# Each message costs its sender and its receiver 2 µs of their own time.
SLOW_CABLE = OneSlowCable(
    ports=4, ranks_per_node=4, base_latency=5e-6, bandwidth=1e9, local_latency=1e-6,
    local_bandwidth=8e9, overhead=2e-6,
)  # fmt: skip
