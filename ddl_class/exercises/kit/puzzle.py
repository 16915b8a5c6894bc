"""The machine of the puzzles with messages: a given one, and free choice of how to use it."""

from ddl_runtime.topologies.point_to_point import Uniform
from ddl_runtime.topologies.shared_links import Star

# Four nodes of four ranks. A node has one cable, which its ranks share. Each message costs its
# sender and its receiver 2 µs of their own time.
FOUR_NODES = Star(
    ports=4, ranks_per_node=4, base_latency=5e-6, bandwidth=1e9, local_latency=1e-6,
    local_bandwidth=8e9, overhead=2e-6,
)  # fmt: skip
SIXTEEN = Uniform(latency=5e-6, bandwidth=1e9, overhead=2e-6)  # any two ranks of 16
RANKS = FOUR_NODES.most_ranks
LENGTH = 2**17  # numbers of 8 bytes
