"""Direct links: a few hosts, and the cables between them, some of them several times as wide.

Only hosts with a cable can send to each other, as in a node of GPUs. A host uses all its cables at
the same time, in both directions.
What to look at: `collectives.fewest_steps` finds a schedule for any such network.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ddl_runtime.topologies.shared_links import Topology


@dataclass(frozen=True)
class DirectLinks(Topology):
    """Cables as (host, host, how many times the `bandwidth`), each in both directions."""

    cables: tuple[tuple[int, int, int], ...]

    @cached_property
    def widths(self) -> Mapping[tuple[int, int], int]:
        """How wide the link from host to host is, for both directions of each cable."""
        return {pair: n for a, b, n in self.cables for pair in ((a, b), (b, a))}

    @cached_property
    def hosts(self) -> int:
        return 1 + max(host for pair in self.widths for host in pair)

    @property
    def switch_links(self) -> int:
        return len(self.widths)

    @cached_property
    def _places(self) -> Mapping[tuple[int, int], int]:
        return {pair: place for place, pair in enumerate(self.widths)}

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        if (source, dest) not in self._places:
            raise ValueError(f"there is no cable from {source} to {dest}: send over others")
        return (self._places[source, dest],)

    def capacities(self) -> np.ndarray:
        capacities = super().capacities()
        capacities[2 * self.most_ranks : -self.switch_links] = np.inf
        capacities[-self.switch_links :] *= [*self.widths.values()]
        return capacities
