"""One description of a machine, for formulas and for simulated ranks.

A `Link` is what every formula of a collective is asked with, `ring(ranks, nbytes, link)`; a
`Cluster` is nodes of ranks, and what a message costs inside a node and between nodes. Each gives
the network on which simulated ranks pay the same. A `Roofline` is a device that computes. What to
look at: a cluster's network is a switch with a port for each node, so messages really share what
the formulas say that they share. Williams, Waterman and Patterson, "Roofline: an insightful visual
performance model for multicore architectures", 2009.
"""

import math
from dataclasses import dataclass, replace

from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_runtime.topologies.shared_links import Star
from ddl_teach.theory.inputs import cost, count


@dataclass(frozen=True)
class Link:
    """Seconds of a message and of each of its bytes; of each byte that is combined with another;
    and of a processor for each send and each receive."""

    latency: float
    per_byte: float
    per_byte_reduced: float = 0.0
    overhead: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            cost(name, value)

    @classmethod
    def of(cls, network: Uniform) -> "Link":
        """Between any two ranks of this network; combining is free there."""
        return cls(*network.fixed_link, overhead=network.overhead)

    @property
    def bandwidth(self) -> float:
        """Bytes a second."""
        return 1 / self.per_byte if self.per_byte else math.inf

    @property
    def network(self) -> Uniform:
        """Simulated ranks, any two of which have this link."""
        return Uniform(self.latency, self.bandwidth, self.overhead)

    def shared(self, messages: float) -> "Link":
        """The link as each of `messages` messages sees it that are on it at once."""
        return replace(self, per_byte=messages * self.per_byte)


@dataclass(frozen=True)
class Roofline:
    """A device: floating-point operations and bytes of its memory a second, how many bytes it has,
    and the seconds before an operation begins."""

    flops: float
    bandwidth: float
    memory: float = math.inf
    launch: float = 0.0

    def seconds(self, flops: float, nbytes: float) -> float:
        """How long an operation takes: the longer of its computing and its reading of memory."""
        return self.launch + max(flops / self.flops, nbytes / self.bandwidth)

    @property
    def machine(self) -> Machine:
        """Simulated ranks of which each has this device."""
        return Machine(flops=self.flops, bandwidth=self.bandwidth, launch=self.launch)


@dataclass(frozen=True)
class Cluster:
    """Nodes of ranks, each of which reaches `flops` operations a second and holds `memory` bytes.

    A node has `cards`, each with a cable of its own into a switch, and `between` is what a message
    by one of them costs. If all cards send at once, the switch passes on 1 / `oversubscription`.
    """

    nodes: int = 1
    ranks_per_node: int = 8
    cards: int = 1
    inside: Link = Link(2e-6, 1 / 200e9)
    between: Link = Link(5e-6, 1 / 25e9)
    oversubscription: float = 1.0
    flops: float = 100e12
    memory: float = 80e9

    def __post_init__(self) -> None:
        for name in ("nodes", "ranks_per_node", "cards"):
            count(name, getattr(self, name))
        if cost("oversubscription", self.oversubscription) < 1:
            raise ValueError(f"oversubscription={self.oversubscription} must be 1 or more")

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node

    def out(self, messages: int) -> Link:
        """The link of each of `messages` messages that leave a node at once, by all its cards."""
        return self.between.shared(self.oversubscription * messages / self.cards)

    def by_card(self, messages: int = 1) -> Link:
        """The link of each of `messages` messages that leave a node at once, each by one card."""
        return self.out(max(messages, self.cards))

    @property
    def network(self) -> Star:
        """Ranks that share the cables of their nodes: a message alone goes over all cards."""
        return Star(
            ports=self.nodes, ranks_per_node=self.ranks_per_node, overhead=self.between.overhead,
            base_latency=self.between.latency, bandwidth=self.out(1).bandwidth,
            local_latency=self.inside.latency, local_bandwidth=self.inside.bandwidth,
        )  # fmt: skip
