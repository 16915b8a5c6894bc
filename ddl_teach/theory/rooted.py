"""The time of the collectives in which one rank, the root, differs from the others.

`nbytes` n is the whole vector: what every rank has at the end of a broadcast and at the start of a
reduce, what the root has at the end of a gather and at the start of a scatter (the others n/P).

========== ============================== =======================
pattern    linear: all talk to the root   binomial tree
========== ============================== =======================
broadcast  L + (P-1) n G                  ceil(log2 P) (L + n G)
reduce     L + (P-1) n G                  ceil(log2 P) (L + n G)
gather     L + (P-1)/P n G                ceil(log2 P) L + (P-1)/P n G
scatter    L + (P-1)/P n G                ceil(log2 P) L + (P-1)/P n G
========== ============================== =======================

The linear forms are exact for every P, the trees for powers of two; for other P the trees'
formulas are upper bounds. A reduce also combines: see each function.

Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005; Chan, Heimlich, Purkayastha & van de Geijn, CCPE
19(13), 2007. Linear is cheap in latency here because LogGP lets messages overlap on the wire;
where a rank may start a message only after the last one has arrived, linear pays P-1 latencies.
"""

from ddl_teach.theory.inputs import Bytes, Seconds, ceil_log2, checked, larger


def broadcast_linear(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """The root sends the vector P-1 times, one after another: L + (P-1) n G.

    With overhead each (blocking) send takes the root o + n G, and the last receiver another o.
    """
    size = checked(ranks, nbytes, latency, per_byte, overhead=overhead)
    if ranks == 1:
        return 0.0 * size
    return (ranks - 1) * (overhead + size * per_byte) + latency + overhead


def broadcast_tree(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """Whoever has the vector sends it on; the number of those doubles: ceil(log2 P) (L + n G)."""
    size = checked(ranks, nbytes, latency, per_byte, overhead=overhead)
    return ceil_log2(ranks) * (latency + 2 * overhead + size * per_byte)


def reduce_linear(
    ranks: int,
    nbytes: Bytes,
    latency: float,
    per_byte: float,
    *,
    per_byte_reduced: float = 0.0,
    overhead: float = 0.0,
) -> Seconds:
    """All send to the root, which combines as they arrive: L + (P-1) n G.

    The port takes in one vector while the processor (o + n g each) combines the one before, so the
    slower of the two sets the pace: o + L + n G + (o + n g) + (P-2) max(n G, o + n g).
    """
    size = checked(ranks, nbytes, latency, per_byte, per_byte_reduced, overhead)
    if ranks == 1:
        return 0.0 * size
    port = size * per_byte
    processor = overhead + size * per_byte_reduced
    return overhead + latency + port + processor + (ranks - 2) * larger(port, processor)


def reduce_tree(
    ranks: int,
    nbytes: Bytes,
    latency: float,
    per_byte: float,
    *,
    per_byte_reduced: float = 0.0,
    overhead: float = 0.0,
) -> Seconds:
    """Pairs combine, then pairs of pairs: ceil(log2 P) (L + n G + n g)."""
    size = checked(ranks, nbytes, latency, per_byte, per_byte_reduced, overhead)
    return ceil_log2(ranks) * (latency + 2 * overhead + size * (per_byte + per_byte_reduced))


def gather_linear(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """All send their n/P to the root: L + (P-1)/P n G, which no gather can beat."""
    size = checked(ranks, nbytes, latency, per_byte, overhead=overhead)
    return reduce_linear(ranks, size / ranks, latency, per_byte, overhead=overhead)


def gather_tree(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """Pairs gather, then pairs of pairs, twice as much each time: ceil(log2 P) L + (P-1)/P n G."""
    size = checked(ranks, nbytes, latency, per_byte, overhead=overhead)
    return ceil_log2(ranks) * (latency + 2 * overhead) + (ranks - 1) / ranks * size * per_byte


def scatter_linear(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """The root sends everybody its n/P: L + (P-1)/P n G, which no scatter can beat."""
    size = checked(ranks, nbytes, latency, per_byte, overhead=overhead)
    return broadcast_linear(ranks, size / ranks, latency, per_byte, overhead=overhead)


def scatter_tree(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """The root sends away half, each holder half of that: ceil(log2 P) L + (P-1)/P n G."""
    return gather_tree(ranks, nbytes, latency, per_byte, overhead=overhead)
