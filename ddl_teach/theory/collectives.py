"""The time of an all-reduce: every rank has a vector of n bytes, every rank gets the sum of all.

With P ranks, latency L, per_byte G and per_byte_reduced g. L and G are the survey's (Ben-Nun &
Hoefler). It counts a vector in elements, m of gamma bytes each, so that its gamma m is our n; and
it counts no additions. g is what Thakur et al. call gamma: the seconds to combine a byte.

==================== =========================== ============================ ====================
algorithm            latency                     bytes on the critical path   bytes combined
==================== =========================== ============================ ====================
linear               2 L                         2 (P-1) n G                  (P-1) n g
tree                 2 ceil(log2 P) L            2 ceil(log2 P) n G           ceil(log2 P) n g
ring                 2 (P-1) L                   2 (P-1)/P n G                (P-1)/P n g
recursive doubling   log2 P L                    log2 P n G                   log2 P n g
Rabenseifner         2 log2 P L                  2 (P-1)/P n G                (P-1)/P n g
parameter server     2 L                         2 (P-1)/s n G                (P-1)/s n g
hierarchical         a tree's inside nodes plus any other's between them
==================== =========================== ============================ ====================

`overhead` o is a processor's time per send and per receive. Where all ranks take the same step at
the same time it adds 2 o to every step. One rank costs nothing: there is nobody to talk to.

Ben-Nun & Hoefler, "Demystifying Parallel and Distributed Deep Learning", ACM CSUR 52(4), 2019.
Thakur, Rabenseifner & Gropp, "Optimization of Collective Communication Operations in MPICH",
IJHPCA 19(1), 2005. Chan, Heimlich, Purkayastha & van de Geijn, "Collective communication: theory,
practice, and experience", CCPE 19(13), 2007.
"""

from collections.abc import Mapping

from ddl_teach.theory.inputs import (
    Bytes,
    Formula,
    Seconds,
    byte_count,
    cost,
    count,
    floor_log2,
    formula_of,
)
from ddl_teach.theory.rooted import broadcast_linear, broadcast_tree, reduce_linear, reduce_tree


@formula_of
def linear(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Everybody sends to one root, which combines and sends the result to everybody.

    2 (L + (P-1) n G): the messages share the root's port one after another, so it pays for the
    bytes P-1 times but for the latency only once each way. Exact for every P.

    While the root combines one vector its port already takes in the next, so with a reduction cost
    the slower of the two counts: L + n G + n g + (P-2) n max(G, g) on the way in. With overhead,
    the root's processor needs o + n g for each arrival and o + n G for each (blocking) send.
    """
    return reduce_linear(P, n, L, G, g, o) + broadcast_linear(P, n, L, G, g, o)


@formula_of
def tree(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """A binomial tree of ceil(log2 P) levels: combine towards the root, broadcast back.

    2 ceil(log2 P) (L + n G) + ceil(log2 P) n g. Exact for powers of two; for other P the deepest
    branch misses a level here and there and the formula is an upper bound.
    """
    return reduce_tree(P, n, L, G, g, o) + broadcast_tree(P, n, L, G, g, o)


@formula_of
def ring(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """P-1 steps of reduce-scatter and P-1 of all-gather, n/P bytes to the next rank in each.

    2 (P-1) (L + n/P G) + (P-1)/P n g. Exact for every P whose P divides the vector's elements. No
    algorithm whose ranks do all adding moves fewer bytes; none pays so many latencies.
    Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
    """
    return 2 * (P - 1) * (L + 2 * o + n / P * G) + (P - 1) / P * n * g


@formula_of
def recursive_doubling(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """In step k every rank swaps its whole vector with the rank whose number differs in bit k.

    log2 P (L + n G + n g), exact for powers of two. Other P take floor(log2 P) steps and two more:
    the ranks above the largest power of two first fold their vectors into partners (L + n G + n g)
    and at the end get the result back (L + n G). That is exact if more than half as many ranks
    fold as swap (P > 3/2 of the power of two); else a folded rank's lateness need not reach
    another folded rank in the last step, and the formula is an upper bound.
    """
    return floor_log2(P) * (L + 2 * o + n * G + n * g) + _fold(P, n, L, G, g, o)


@formula_of
def rabenseifner(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Reduce-scatter by recursive halving, then all-gather by recursive doubling.

    2 log2 P L + 2 (P-1)/P n G + (P-1)/P n g: the ring's bytes at a tree's latency. Other P do this
    on Q, the largest power of two below, between the fold and the unfold of recursive doubling,
    2 (L + n G) + n g. Exact for every P whose Q divides the vector's elements: on the way out and
    back the lateness of a folded rank returns to that rank.
    Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.
    """
    Q = 1 << floor_log2(P)
    swaps = 2 * floor_log2(P) * (L + 2 * o) + (Q - 1) / Q * n * (2 * G + g)
    return swaps + _fold(P, n, L, G, g, o)


def _fold(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """What ranks beyond a power of two add: one step to fold in, one to get the result back."""
    return 0.0 if 2 ** floor_log2(P) == P else 2 * (L + 2 * o + n * G) + n * g


def parameter_server(
    ranks: int, shards: int, nbytes: Bytes, *link: float, **more: float
) -> Seconds:
    """Ranks 0 .. s-1 each own a shard of n/s bytes: all push to every shard, then pull from it.

    2 (L + (P-1)/s n G), and for the shards' reductions as in `linear`. Exact where the ranks begin
    with different shards, so that no port stands idle. One shard is `linear`; as many shards as
    ranks reach the bytes of the ring at two latencies, if the network lets all talk to all.
    Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014.
    """
    count("shards", shards)
    if shards > count("ranks", ranks):
        raise ValueError(
            f"{shards} shards need as many ranks to own them, but there are {ranks}: "
            "lower shards, or count the servers among the ranks"
        )
    return linear(ranks, byte_count(nbytes) / shards, *link, **more)


def hierarchical(
    nodes: int,
    ranks_per_node: int,
    nbytes: Bytes,
    latency: float,
    per_byte: float,
    latency_between: float,
    per_byte_between: float,
    *,
    between: str = "ring",
    **costs: float,
) -> Seconds:
    """A tree inside each node up to its leader, an all-reduce of the leaders, a tree back down.

    With N nodes of R ranks: 2 ceil(log2 R) (L + n G) + ceil(log2 R) n g inside, and `between`'s
    own formula with N ranks and the costs between nodes. Exact where that formula is and R is a
    power of two; for other R an upper bound. Splitting the ranks into nodes is not counted.
    Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize collective
    operation performance", IPDPS 2000.
    """
    count("nodes", nodes)
    count("ranks_per_node", ranks_per_node)
    cost("latency_between", latency_between)
    cost("per_byte_between", per_byte_between)
    inside = tree(ranks_per_node, nbytes, latency, per_byte, **costs)
    return inside + formula(between)(nodes, nbytes, latency_between, per_byte_between, **costs)


ALGORITHMS: Mapping[str, Formula] = {
    "linear": linear,
    "tree": tree,
    "ring": ring,
    "recursive_doubling": recursive_doubling,
    "rabenseifner": rabenseifner,
}
"""By the name of the algorithm's file."""


def formula(algorithm: str) -> Formula:
    """The formula of that name, or an error that lists the names there are."""
    if algorithm not in ALGORITHMS:
        raise ValueError(f"no formula for {algorithm!r}; there is one for {', '.join(ALGORITHMS)}")
    return ALGORITHMS[algorithm]
