"""An all-reduce on nodes: two levels of cost, and a cable that the ranks of a node share.

N nodes of R ranks each. A message of n bytes takes L + n G inside a node, and L' + n G' from node
to node. L' and G' are far larger; all that a node's ranks send to others goes by its one cable.
With c = n / (N R), a chunk of the ring:

    one_ring      2 (N R - 1) max(c G', mean of the hops)       in the order of the nodes, where a
                  hop takes L' + c G' at one rank of R, and L + c G at the others
    dealt_ring    2 (N R - 1) (L' + R c G')                     dealt out like cards
    by_leaders    2 (L + (R-1) n G) + 2 (N-1) (L' + n/N G')
    by_parts      2 (R-1) (L + n/R G) + 2 (N-1) (L' + n/(N C) G')      on C cards a node
    swapping      log2 R (L + n G) + log2 N (L' + R n G')       recursive doubling

From a node go, one way, about 2 n, 2 R n, 2 n, 2 n and R log2(N) n bytes: all of them over one
cable, but those by parts over its C. Karonis et al. 2000; Cho et al., "BlueConnect", MLSys 2019.
What to look at: how many messages are on one cable at the same time.
"""

from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np

from ddl_teach.theory.collectives import hierarchical, linear, recursive_doubling, ring
from ddl_teach.theory.inputs import Bytes, Seconds
from ddl_teach.theory.machine import Cluster, Link

LEAST = (1e-9, 1e-13)  # of a latency, and of a time a byte, that can be believed


def one_ring(cluster: Cluster, nbytes: Bytes) -> Seconds:
    """All ranks in one ring, in the order of the nodes: a cable carries one message each way.
    A lower bound, near where chunks are large or nodes many."""
    each, inside, between = cluster.ranks_per_node, cluster.inside, cluster.by_card()
    if cluster.nodes == 1:
        return ring(each, nbytes, inside)
    chunk = np.asarray(nbytes) / cluster.ranks
    far, near = (link.latency + chunk * link.per_byte for link in (between, inside))
    hop = np.maximum(chunk * between.per_byte, (far + (each - 1) * near) / each)
    return 2 * (cluster.ranks - 1) * hop


def dealt_ring(cluster: Cluster, nbytes: Bytes) -> Seconds:
    """The time of a ring whose neighbours are all on other nodes: all ranks share its cable."""
    alone = cluster.nodes == 1
    link = cluster.inside if alone else cluster.by_card(cluster.ranks_per_node)
    return ring(cluster.ranks, nbytes, link)


def by_leaders(cluster: Cluster, nbytes: Bytes) -> Seconds:
    """The time to sum at the first rank of each node, then round a ring of these, and back."""
    inside = linear(cluster.ranks_per_node, nbytes, cluster.inside)
    return inside + ring(cluster.nodes, nbytes, cluster.by_card())


def by_parts(cluster: Cluster, nbytes: Bytes) -> Seconds:
    """Each rank sums a part inside its node, then round a ring of those with the same part."""
    return hierarchical(cluster, nbytes)


def swapping(cluster: Cluster, nbytes: Bytes) -> Seconds:
    """Recursive doubling by all ranks; nodes and ranks of a node are powers of two."""
    each = cluster.ranks_per_node
    within = recursive_doubling(each, nbytes, cluster.inside)
    return within + recursive_doubling(cluster.nodes, nbytes, cluster.by_card(each))


def levels(
    node_of: Sequence[int], pings: Iterable[tuple[int, int, int, float]]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Latency and per_byte, inside a node and between nodes, from pings `(a, b, nbytes, seconds)`.

    They are of two sizes. The median of the short ones is a latency; the long ones give the rest.
    """
    known = list(pings)
    short, long = (edge(nbytes for _, _, nbytes, _ in known) for edge in (min, max))

    def pair(near: bool) -> tuple[float, float]:
        quick, slow = (
            median(s for a, b, n, s in known if n == size and (node_of[a] == node_of[b]) == near)
            for size in (short, long)
        )
        return quick, (slow - quick) / (long - short)

    return pair(True), pair(False)


def links(pairs: Iterable[tuple[float, float]]) -> tuple[Link, ...]:
    """Measured `(latency, per_byte)` as links: noise can make both negative, and none is."""
    return tuple(
        Link(*(max(float(part), least) for part, least in zip(pair, LEAST, strict=True)))
        for pair in pairs
    )


def step(cluster: Cluster, nbytes: Bytes, work: Seconds) -> tuple[Seconds, Seconds]:
    """Work and an exchange, by one ring of all ranks and by parts."""
    return work + one_ring(cluster, nbytes), work + by_parts(cluster, nbytes)
