"""The time of an all-reduce: every rank has a vector of n bytes, every rank gets the sum of all.

With P ranks, latency L, per_byte G and per_byte_reduced g. L and G are the survey's (Ben-Nun &
Hoefler), whose gamma m bytes are our n. g is what Thakur et al. call gamma: the seconds to combine
a byte.

==================== =========================== ============================ ====================
algorithm            latency                     bytes on the critical path   bytes combined
==================== =========================== ============================ ====================
linear               2 L                         2 (P-1) n G                  (P-1) n g
tree                 2 ceil(log2 P) L            2 ceil(log2 P) n G           ceil(log2 P) n g
ring                 2 (P-1) L                   2 (P-1)/P n G                (P-1)/P n g
recursive doubling   log2 P L                    log2 P n G                   log2 P n g
Rabenseifner         2 log2 P L                  2 (P-1)/P n G                (P-1)/P n g
leaders              a tree's inside nodes plus any other's between them
hierarchical         a ring's inside nodes plus any other's of a part between them
direct               2 L                         2 (P-1)/P n G                (P-1)/P n g
one-shot             L                           (P-1) n G                    (P-1) n g
==================== =========================== ============================ ====================

`FORMULAS` has these by name, and the other collectives in a line each. The last two hold where
all pairs of ranks have a path of their own, as behind one switch.

`overhead` o is a processor's time per send and per receive: where all ranks take the same step at
the same time it adds 2 o to every step.

Ben-Nun & Hoefler, "Demystifying Parallel and Distributed Deep Learning", ACM CSUR 52(4), 2019.
Thakur et al. 2005. Bruck et al. 1997. Hensgen et al. 1988. Hillis & Steele, "Data parallel
algorithms", CACM 29(12), 1986. Chan, Heimlich, Purkayastha & van de Geijn, "Collective
communication: theory, practice, and experience", CCPE 19(13), 2007.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ddl_teach.theory.inputs import (
    Bytes,
    Seconds,
    ceil_log2,
    checked,
    floor_log2,
    larger,
    power_of_two,
)
from ddl_teach.theory.machine import Cluster, Link

Formula = Callable[[int, Bytes, Link], Seconds]
"""The time of a collective, each size of an array of sizes by itself: `ring(ranks, nbytes, link)`.
"""


def formula_of(letters: Callable[..., Seconds]) -> Formula:
    """A formula in the papers' letters P, n, L, G, g, o, asked with a link.

    P ranks, n bytes, latency L, per_byte G, per_byte_reduced g, overhead o.
    """

    def time(ranks: int, nbytes: Bytes, link: Link) -> Seconds:
        return letters(ranks, checked(ranks, nbytes), *vars(link).values())

    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(time, name, getattr(letters, name))
    return time


@formula_of
def linear(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """All ranks send to one root, which combines and sends the result to all.

    Exact for every P: the root's port pays for the bytes P-1 times but for the latency only once
    each way. While the root combines one vector its port takes in the next.
    """
    return _to_root(P, n, L, G, g, o) + _from_root(P, n, L, G, g, o)


@formula_of
def tree(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """A binomial tree of ceil(log2 P) levels: combine towards the root, broadcast back.

    Exact for powers of two; for other P, whose deepest branch may miss a level, an upper bound.
    """
    return ceil_log2(P) * (2 * (L + 2 * o + n * G) + n * g)


@formula_of
def ring(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """P-1 steps of reduce-scatter and P-1 of all-gather, n/P bytes to the next rank in each.

    Exact where P divides the vector's elements. No algorithm whose ranks do all adding moves fewer
    bytes; none pays more latencies.
    Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
    """
    return 2 * (P - 1) * (L + 2 * o + n / P * G) + (P - 1) / P * n * g


@formula_of
def recursive_doubling(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """In step k every rank swaps its whole vector with the rank whose number differs in bit k.

    Other P take two steps more, to fold into partners and to get the result back. Where few fold,
    most of them swap with ranks that are ahead. Exact without overhead, else an upper bound.
    """
    levels, folded = floor_log2(P), P - (1 << floor_log2(P))
    message, step = L + 2 * o + n * G, 2 * o + n * (G + g)
    if not folded:
        return levels * (L + step)
    late = larger(ceil_log2(folded) * L + message, levels * L)
    return message + n * g + levels * step + late


@formula_of
def rabenseifner(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Reduce-scatter by recursive halving, then all-gather by recursive doubling.

    The ring's bytes at a tree's latency. Other P do this on Q, the largest power of two below,
    between fold and unfold. Exact where Q divides the vector's elements.
    Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.
    """
    Q = 1 << floor_log2(P)
    swaps = 2 * floor_log2(P) * (L + 2 * o) + (Q - 1) / Q * n * (2 * G + g)
    return swaps + (Q < P) * (2 * (L + 2 * o + n * G) + n * g)


def double_binary_tree(ranks: int, nbytes: Bytes, link: Link, chunks: int = 1) -> Seconds:
    """Two pipelined trees, each for half of the vector, in `chunks` chunks a tree.

    An estimate: first chunks go up and down, two messages a level; then all ports are busy.
    Sanders et al. 2009.
    """
    chunk = checked(ranks, nbytes) / (2 * chunks)
    first = 2 * ceil_log2(ranks) * (link.latency + 2 * link.overhead + 2 * chunk * link.per_byte)
    return first + (ranks > 1) * 2 * checked(ranks, nbytes) * link.per_byte


def pat(ranks: int, nbytes: Bytes, link: Link, most: int, reduce: bool = False) -> Seconds:
    """An all-gather, or a reduce-scatter, by trees of which `most` chunks share a message.

    Exact for every P. Jeaugey 2025.
    """
    Q = 1 << ceil_log2(ranks)
    A = min(most, Q)
    messages = floor_log2(A) + min(Q // A, ranks) - 1
    per_byte = link.per_byte + reduce * link.per_byte_reduced
    shared = (ranks - 1) / ranks * checked(ranks, nbytes)
    return messages * (link.latency + 2 * link.overhead) + shared * per_byte


def leaders(cluster: Cluster, nbytes: Bytes, between: str = "ring") -> Seconds:
    """A tree inside each node up to its leader, an all-reduce of the leaders, a tree back down.

    `between` names the leaders' algorithm. Exact where its formula is and the ranks of a node are
    a power of two, else an upper bound. Splitting the ranks into nodes is not counted.
    Karonis et al. 2000.
    """
    inside = tree(cluster.ranks_per_node, nbytes, cluster.inside)
    return inside + formula(between)(cluster.nodes, nbytes, cluster.by_card())


def hierarchical(cluster: Cluster, nbytes: Bytes, between: str = "ring") -> Seconds:
    """A reduce-scatter inside each node, all-reduces of the parts across, an all-gather inside.

    `between` names the algorithm across; the parts of a node share its cards. Exact where its
    formula is and the parts are equal. Splitting the ranks into groups is not counted.
    Cho et al., "BlueConnect", 2019.
    """
    R = cluster.ranks_per_node
    inside = ring(R, nbytes, cluster.inside)
    return inside + formula(between)(cluster.nodes, np.asarray(nbytes) / R, cluster.by_card(R))


def _to_root(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    # The port takes in one vector while the processor combines the one before.
    return (P > 1) * (L + 2 * o + n * (G + g) + (P - 2) * larger(n * G, o + n * g))


def _from_root(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    # Each (blocking) send takes the root o + n G, and the last receiver another o.
    return (P > 1) * (L + o + (P - 1) * (o + n * G))


def _at_once(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    # All P-1 messages of n bytes are started, then all are received; only then all are combined.
    first = larger(L + o + n * G, (P - 1) * o) + (P - 1) * o
    last = L + 2 * o + n * G + (P - 2) * larger(n * G, o)
    return (P > 1) * (larger(first, last) + (P - 1) * n * g)


def _doubled(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    # What is sent doubles, or halves, from step to step.
    return ceil_log2(P) * (L + 2 * o) + (P - 1) / P * n * (G + g)


def _swapped(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    power_of_two("swapping halves", P)
    return _doubled(P, n, L, G, g, o)


_LETTERS: Mapping[tuple[str, str], Callable[..., Seconds]] = {
    ("linear", "broadcast"): _from_root,
    ("linear", "reduce"): _to_root,
    ("linear", "gather"): lambda P, n, L, G, g, o: _to_root(P, n / P, L, G, 0.0, o),
    ("linear", "scatter"): lambda P, n, L, G, g, o: _from_root(P, n / P, L, G, 0.0, o),
    ("linear", "scan"): lambda P, n, L, G, g, o: (P - 1) * (L + 2 * o + n * (G + g)),
    ("tree", "broadcast"): lambda P, n, L, G, g, o: ceil_log2(P) * (L + 2 * o + n * G),
    ("tree", "reduce"): lambda P, n, L, G, g, o: ceil_log2(P) * (L + 2 * o + n * (G + g)),
    ("tree", "gather"): lambda P, n, L, G, g, o: _doubled(P, n, L, G, 0.0, o),
    ("tree", "scatter"): lambda P, n, L, G, g, o: _doubled(P, n, L, G, 0.0, o),
    ("ring", "reduce_scatter"): lambda P, n, L, G, g, o: (P - 1) * (L + 2 * o + n / P * (G + g)),
    ("ring", "allgather"): lambda P, n, L, G, g, o: (P - 1) * (L + 2 * o + n / P * G),
    ("rabenseifner", "reduce_scatter"): _swapped,
    ("recursive_doubling", "allgather"): lambda P, n, L, G, g, o: _swapped(P, n, L, G, 0.0, o),
    ("recursive_doubling", "scan"): (
        lambda P, n, L, G, g, o: ceil_log2(P) * (L + 2 * o + n * (G + g))
    ),
    ("bruck", "allgather"): lambda P, n, L, G, g, o: _doubled(P, n, L, G, 0.0, o),
    # A block is sent once for every 1 in its distance, written in binary.
    ("bruck", "alltoall"): lambda P, n, L, G, g, o: (
        ceil_log2(P) * (L + 2 * o) + sum(map(int.bit_count, range(P))) * n / P * G
    ),
    ("pat", "reduce_scatter"): _doubled,
    ("pat", "allgather"): lambda P, n, L, G, g, o: _doubled(P, n, L, G, 0.0, o),
    ("direct", "reduce_scatter"): lambda P, n, L, G, g, o: _at_once(P, n / P, L, G, g, o),
    ("direct", "allgather"): lambda P, n, L, G, g, o: _at_once(P, n / P, L, G, 0.0, o),
    ("direct", "allreduce"): lambda P, n, L, G, g, o: (
        _at_once(P, n / P, L, G, g, o) + _at_once(P, n / P, L, G, 0.0, o)
    ),
    ("one_shot", "allreduce"): _at_once,
    ("pairwise", "alltoall"): lambda P, n, L, G, g, o: (P - 1) * (L + 2 * o + n / P * G),
    ("dissemination", "barrier"): lambda P, n, L, G, g, o: ceil_log2(P) * (L + 2 * o + 0 * n),
}

FORMULAS: Mapping[tuple[str, str], Formula] = {
    ("linear", "allreduce"): linear,
    ("tree", "allreduce"): tree,
    ("ring", "allreduce"): ring,
    ("recursive_doubling", "allreduce"): recursive_doubling,
    ("rabenseifner", "allreduce"): rabenseifner,
} | {names: formula_of(letters) for names, letters in _LETTERS.items()}
"""By the names of an algorithm's file and of its function. The vector of n bytes is the longest
that any rank has. Exact for every P that divides it; of trees and the scan by recursive doubling
for powers of two, and else an upper bound. Swaps of halves are for powers of two alone."""

ALGORITHMS: Mapping[str, Formula] = {
    algorithm: time
    for (algorithm, what), time in FORMULAS.items()
    if what == "allreduce" and algorithm not in ("direct", "one_shot")
}
"""The all-reduces that need no path between each two ranks, by the name of the algorithm's file.
"""


def formula(algorithm: str, collective: str = "allreduce") -> Formula:
    """The formula of that name, or an error that lists the names there are."""
    if (algorithm, collective) not in FORMULAS:
        known = ", ".join(name for name, what in FORMULAS if what == collective)
        raise ValueError(f"no formula for {algorithm!r}; {collective} has one for {known}")
    return FORMULAS[algorithm, collective]
