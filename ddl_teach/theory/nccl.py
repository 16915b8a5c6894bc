"""A switch that adds, and the protocols of NCCL, in numbers.

A ring of P ranks takes 2 (P-1) (L + n/P G) for n bytes, with latency L and per_byte G. Hosts
around a switch that adds send K pieces up and receive their sums: 2 L + (1 + 1/K) n G for any
number of hosts. Each sends n bytes and receives n once. That is less than 2 (P-1)/P n, which
counts the bytes of ranks that must add by themselves.

Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture for
efficient data reduction", COMHPC 2016. Hu et al., "Demystifying NCCL: an in-depth analysis of GPU
communication protocols and algorithms", arXiv 2025.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ddl_teach.theory.inputs import Bytes, Seconds
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
