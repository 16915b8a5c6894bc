"""Networks whose links are shared by the messages that cross them, so that congestion shows.

A topology is hosts, switches and full-duplex links, and one fixed route for each pair of hosts.
A message that meets no other takes

    base_latency + hop_latency * (links between switches) + n / bandwidth

and where several cross a link, they share it (`max_min_flows`). That goes for the first and the
last link as well: what a rank sends to several others at the same time leaves side by side, as
over several connections of one card. On networks without shared links it leaves in order, as LogGP
has it; the last is out at the same time. Where no two messages meet, all networks agree.

How bad sharing gets is a question of cuts: what one half of the hosts has for the other must
squeeze through the bisection bandwidth. For P hosts with links of bandwidth B:

    topology            cables between switches   longest route   bisection bandwidth, one way
    Star                0 (one switch)            0               P/2 * B
    SharedBus           1                         1               B
    FatTree, 3 levels   2P                        4               P/2 * B / oversubscription
    Torus, k^d          d * P                     d * k/2         2P/k * B
    Dragonfly           about 3/2 P               3               about P/4 * B

No schedule is faster than max(bytes / capacity) over the links.
Dally and Towles, "Principles and practices of interconnection networks", 2004.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ddl_runtime.core.checks import whole_number
from ddl_runtime.topologies.point_to_point import check_fields, check_positive


@dataclass(frozen=True, kw_only=True)
class Topology(ABC):
    """What all topologies share: hosts, each with one link to its switch, and ranks on the hosts.

    Ranks fill the hosts in order, `ranks_per_node` on each. Messages between the ranks of one
    host do not touch the host's link: each rank has a port of `local_bandwidth` to its host's
    memory, one in each direction. Left out, `local_latency` and `local_bandwidth` are those
    outside.

    Links are numbered: two for each rank (to and from memory), two for each host (to and from its
    switch). Then come those between switches, which a topology numbers from 0 by arithmetic alone.
    """

    base_latency: float = 1e-6
    bandwidth: float = 10e9
    hop_latency: float = 0.0
    overhead: float = 0.0
    ranks_per_node: int = 1
    local_latency: float | None = None
    local_bandwidth: float | None = None

    shared = True

    def __post_init__(self) -> None:
        check_fields(self, "base_latency", "hop_latency", "overhead", "bandwidth")
        check_positive(local_latency=self.local_latency or 0.0)
        if self.local_bandwidth is not None:
            check_positive(bandwidth=self.local_bandwidth)
        whole_number(self.ranks_per_node, "ranks_per_node", 1)

    @property
    @abstractmethod
    def hosts(self) -> int:
        """How many hosts there are."""

    @property
    @abstractmethod
    def switch_links(self) -> int:
        """How many links run between switches, each direction counted."""

    @abstractmethod
    def route(self, source: int, dest: int) -> tuple[int, ...]:
        """The links between switches that lead from one host's switch to another's."""

    @cached_property
    def most_ranks(self) -> int:
        return self.hosts * self.ranks_per_node

    def check_ranks(self, ranks: int) -> None:
        if ranks > self.most_ranks:
            raise ValueError(
                f"{ranks} ranks do not fit: this {type(self).__name__} has room for "
                f"{self.most_ranks} ({self.hosts} hosts x {self.ranks_per_node} on each); "
                f"make it larger, or put ranks_per_node={-(-ranks // self.hosts)} on each host"
            )

    def node(self, rank: int) -> int:
        return rank // self.ranks_per_node

    def path(self, source: int, dest: int) -> tuple[int, ...]:
        """The links from rank to rank, in the order they are crossed."""
        ranks = self.most_ranks
        if not 0 <= source < ranks > dest >= 0:
            raise ValueError(f"no path from rank {source} to {dest}: ranks are 0..{ranks - 1}")
        start, end = self.node(source), self.node(dest)
        if start == end:
            return 2 * source, 2 * dest + 1
        first = 2 * ranks
        switches = first + 2 * self.hosts
        between = [switches + link for link in self.route(start, end)]
        return first + 2 * start, *between, first + 2 * end + 1

    def latency(self, source: int, dest: int) -> float:
        """Seconds until the first byte arrives."""
        start, end = self.node(source), self.node(dest)
        if start == end:
            return self.base_latency if self.local_latency is None else self.local_latency
        if not self.hop_latency:
            return self.base_latency
        return self.base_latency + self.hop_latency * len(self.route(start, end))

    def capacities(self) -> np.ndarray:
        """Bytes per second of every link."""
        local = self.bandwidth if self.local_bandwidth is None else self.local_bandwidth
        links = 2 * self.most_ranks + 2 * self.hosts + self.switch_links
        capacities = np.full(links, float(self.bandwidth))
        capacities[: 2 * self.most_ranks] = local
        return capacities


@dataclass(frozen=True)
class _OneSwitch(Topology):
    """All hosts in one place, and every message between them over all links there are in it."""

    ports: int

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.ports, "ports", 1)

    @property
    def hosts(self) -> int:
        return self.ports

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        return tuple(range(self.switch_links))


@dataclass(frozen=True)
class Star(_OneSwitch):
    """One switch that never blocks, with a host on each port.

    Where no two messages meet at a host the times are those of `Uniform`. Where they do, `Uniform`
    lets them pass one after another, and here they share: the last ends at the same time, but the
    first ends later.
    """

    switch_links = 0


@dataclass(frozen=True)
class SharedBus(_OneSwitch):
    """One wire for all: the first Ethernet, a hub, a radio channel.

    k messages at a time each get a k-th of the bandwidth, between whatever ranks.
    """

    switch_links = 1
