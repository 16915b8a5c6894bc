"""A switch that adds, and the protocols, channels and choices of NCCL, in numbers.

A ring of P ranks takes 2 (P-1) (L + n/P G) for n bytes, with latency L and per_byte G. Hosts
around a switch that adds send K pieces up and receive their sums: 2 L + (1 + 1/K) n G for any
number of hosts. Each sends n bytes and receives n once. That is less than 2 (P-1)/P n, which
counts the bytes of ranks that must add by themselves.

NCCL takes the algorithm and the protocol with the least `expected` time. A channel is one copy of
a ring or tree, with processors of its own; the vector is cut over all of them.

Graham et al. 2016. Hu et al., "Demystifying NCCL", 2025. Numbers of the choice: NVIDIA, NCCL 2.30,
src/graph/tuning.cc and topo.h, 2026.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ddl_teach.theory.inputs import Bytes, Seconds, floor_log2
from ddl_teach.theory.machine import Link


def in_the_switch(nbytes: Bytes, link: Link, pieces: int) -> Seconds:
    """An all-reduce of any number of hosts around a switch that adds."""
    return 2 * link.latency + (1 + 1 / pieces) * np.asarray(nbytes) * link.per_byte


@dataclass(frozen=True)
class WireProtocol:
    """How a message says that it is complete: seconds a hop, and what part of it is data."""

    latency: float
    fraction: float

    def link(self, bandwidth: float) -> Link:
        """A link of this bandwidth under this protocol."""
        return Link(self.latency, 1 / (self.fraction * bandwidth))


PROTOCOLS: Mapping[str, WireProtocol] = {
    "Simple": WireProtocol(6e-6, 1.0),  # a flag after a whole chunk, with a memory fence
    "LL": WireProtocol(1e-6, 4 / 8),  # 4 bytes of data and 4 of flag, stored at once
    "LL128": WireProtocol(2e-6, 120 / 128),  # 120 bytes of data and 8 of flag
}
"""Latencies between GPUs by Hu et al., 2025, to the nearest microsecond."""


@dataclass(frozen=True)
class Generation:
    """What NCCL assumes of a kind of GPU, in GB/s: of a channel or, for LL, of all channels.

    Of what depends on the nodes there is a number for 1, for 2 and for more.
    """

    channels: int  # one for each NVLink of a GPU
    bandwidth: float
    ll: float
    ring_ll128: float
    tree: tuple[float, float, float]
    tree_ll128: tuple[float, float, float]
    switch: float = 0.0  # what part of the bandwidth is left where NVLink's switches add


GENERATIONS: Mapping[str, Generation] = {
    "A100": Generation(12, 20.0, 87.7, 20.0, (24.0, 23.6, 17.8), (20.0, 20.0, 20.0)),
    "H100": Generation(18, 20.6, 141.0, 36.7, (38.7, 41.4, 36.0), (36.7, 36.7, 29.0), 0.85),
    "B200": Generation(18, 40.1, 282.0, 40.0, (70.0, 42.8, 24.0), (55.6, 31.67, 20.0), 0.74),
}
_MICROSECONDS = {  # by LL, LL128 and Simple: to begin, a hop inside a node, a hop between nodes
    "ring": ((6.6, 14.0, 8.4), (0.6, 1.9, 3.4), (2.7, 4.0, 14.0)),
    "tree": ((6.8, 14.0, 8.4), (0.6, 1.25, 4.0), (5.0, 8.5, 14.0)),
}


def expected(
    nbytes: Bytes, nodes: int, ranks_per_node: int, gpu: str = "H100", cards: float = 400e9
) -> Mapping[str, Seconds]:
    """The seconds of an all-reduce by each algorithm and protocol, as NCCL computes them.

    `cards` is the bytes a second of all cards of a node. Left out: corrections for middle sizes,
    several switches that add, and what depends on the maker of the CPU (here Intel).
    """
    of, P, size = GENERATIONS[gpu], nodes * ranks_per_node, min(nodes, 3) - 1
    inside, cards = of.channels * of.bandwidth, cards / 1e9
    ring = min(inside, cards) if nodes > 1 else inside
    # Between two nodes a byte of a tree crosses once up and once down, on cards of both.
    tree = min(inside, 2 * cards) if nodes == 2 else ring
    tree = min(0.92 * tree, of.channels * of.tree[size])
    ll, data = ((of.ll, 7 / 9), (39.0, 120 / 128), (20.4, 120 / 128))[size]
    rates = {
        "ring": (min(ll, ring / 2), min(0.92 * ring, of.channels * of.ring_ll128), ring),
        "tree": (min(ll, tree / 3.8), min(data * tree, of.channels * of.tree_ll128[size]), tree),
    }
    hops = {
        "ring": (2 * (P - nodes), 2 * (nodes - 1)),
        "tree": (2 * (ranks_per_node - 1), 2 * floor_log2(nodes)),
    }
    vectors = {"ring": 2 * (P - 1) / P, "tree": 2}  # that pass each rank
    times, gigabytes = {}, np.asarray(nbytes) / 1e9
    for algorithm, (begin, near, far) in _MICROSECONDS.items():
        for which, protocol in enumerate(("LL", "LL128", "Simple")):
            latency = begin[which] + hops[algorithm][0] * near[which]
            latency += hops[algorithm][1] * far[which]
            carried = vectors[algorithm] * gigabytes / rates[algorithm][which]
            times[f"{algorithm} {protocol}"] = 1e-6 * latency + carried
    if of.switch and nodes == 1:
        added = 2 * inside * of.switch * (of.channels - 1) / of.channels
        times["switch Simple"] = 25e-6 + vectors["ring"] * gigabytes / added
    return times
