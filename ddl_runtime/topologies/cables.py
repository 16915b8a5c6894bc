"""Cables: a few hosts, and the cables between them, some of them several times as wide.

Only hosts with a cable can send to each other, as in the links of a node of GPUs. A host can use
all its cables at the same time, in both directions.
What to look at: which schedule fits is a question of its own (`collectives.fewest_steps`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ddl_runtime.topologies.shared_links import Topology


@dataclass(frozen=True)
class Cables(Topology):
    """Cables as (host, host, how many times the `bandwidth`), each in both directions."""

    cables: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        ends = [frozenset(cable[:2]) for cable in self.cables]
        if not ends or len({*ends}) < len(ends) or any(len(pair) < 2 for pair in ends):
            raise ValueError("cables are (host, host, width), each pair of two hosts once")

    @cached_property
    def widths(self) -> Mapping[tuple[int, int], int]:
        """How wide the link from host to host is, for both directions of each cable."""
        return {pair: n for a, b, n in self.cables for pair in ((a, b), (b, a))}

    @cached_property
    def _numbers(self) -> Mapping[tuple[int, int], int]:
        return {pair: number for number, pair in enumerate(self.widths)}

    @cached_property
    def hosts(self) -> int:
        return 1 + max(host for pair in self.widths for host in pair)

    @property
    def switch_links(self) -> int:
        return len(self.widths)

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        if (source, dest) not in self._numbers:
            raise ValueError(f"there is no cable from {source} to {dest}: send over others")
        return (self._numbers[source, dest],)

    def capacities(self) -> np.ndarray:
        capacities = super().capacities()
        if self.host_bandwidth is None:
            capacities[2 * self.most_ranks :] = np.inf
        capacities[-self.switch_links :] = self.bandwidth * np.array([*self.widths.values()])
        return capacities
