"""The time of the collectives in which every rank does the same: no root.

`nbytes` n is the whole vector: what every rank has at the start of a reduce-scatter, a scan or an
all-to-all (a block of n/P for each rank), and at the end of an all-gather.

=============== ========================= ====================================================
pattern         algorithm                 time
=============== ========================= ====================================================
reduce-scatter  ring                      (P-1) (L + n/P (G + g))
reduce-scatter  recursive halving         log2 P L + (P-1)/P n (G + g)
all-gather      ring                      (P-1) (L + n/P G)
all-gather      recursive doubling        log2 P L + (P-1)/P n G
all-gather      Bruck                     ceil(log2 P) L + (P-1)/P n G
all-to-all      pairwise                  (P-1) (L + n/P G)
all-to-all      Bruck                     ceil(log2 P) L + (log2 P)/2 n G for powers of two
scan            linear                    (P-1) (L + n (G + g))
scan            recursive doubling        ceil(log2 P) (L + n (G + g))
barrier         dissemination             ceil(log2 P) L
=============== ========================= ====================================================

With `overhead` o every step costs 2 o more. Unless a function says otherwise it is exact for every
P that divides the vector.

Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005; Bruck, Ho, Kipnis, Upfal & Weathersby, "Efficient
algorithms for all-to-all communications in multiport message-passing systems", TPDS 8(11), 1997.
"""

from ddl_teach.theory.inputs import Bytes, Seconds, ceil_log2, checked, power_of_two


def reduce_scatter_ring(
    ranks: int,
    nbytes: Bytes,
    latency: float,
    per_byte: float,
    *,
    per_byte_reduced: float = 0.0,
    overhead: float = 0.0,
) -> Seconds:
    """Each block travels once round and collects a summand per rank: (P-1) (L + n/P (G + g))."""
    size = checked(ranks, nbytes, latency, per_byte, per_byte_reduced, overhead)
    step = latency + 2 * overhead + size / ranks * (per_byte + per_byte_reduced)
    return (ranks - 1) * step


def reduce_scatter_recursive_halving(
    ranks: int,
    nbytes: Bytes,
    latency: float,
    per_byte: float,
    *,
    per_byte_reduced: float = 0.0,
    overhead: float = 0.0,
) -> Seconds:
    """Swap halves with a far partner, quarters with a nearer one: log2 P L + (P-1)/P n (G + g).

    For powers of two; other rank counts are refused.
    """
    size = checked(ranks, nbytes, latency, per_byte, per_byte_reduced, overhead)
    power_of_two("recursive halving", ranks)
    moved = (ranks - 1) / ranks * size
    return ceil_log2(ranks) * (latency + 2 * overhead) + moved * (per_byte + per_byte_reduced)


def allgather_ring(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """Each block travels once round: (P-1) (L + n/P G)."""
    return reduce_scatter_ring(ranks, nbytes, latency, per_byte, overhead=overhead)


def allgather_recursive_doubling(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """Swap all you have with a partner, twice as much each time: log2 P L + (P-1)/P n G.

    For powers of two; `allgather_bruck` costs the same and takes any rank count.
    """
    size = checked(ranks, nbytes, latency, per_byte, overhead=overhead)
    power_of_two("the all-gather by recursive doubling", ranks)
    return ceil_log2(ranks) * (latency + 2 * overhead) + (ranks - 1) / ranks * size * per_byte


def allgather_bruck(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """Send all you have to the rank 1, 2, 4 ... below: ceil(log2 P) L + (P-1)/P n G."""
    size = checked(ranks, nbytes, latency, per_byte, overhead=overhead)
    return ceil_log2(ranks) * (latency + 2 * overhead) + (ranks - 1) / ranks * size * per_byte


def alltoall_pairwise(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """In step k send one block to the rank k above, take one from the rank k below.

    (P-1) (L + n/P G): no byte travels twice, so it is the choice for large blocks.
    """
    return allgather_ring(ranks, nbytes, latency, per_byte, overhead=overhead)


def alltoall_bruck(
    ranks: int, nbytes: Bytes, latency: float, per_byte: float, *, overhead: float = 0.0
) -> Seconds:
    """In step k send on, by 2^k ranks, the blocks whose remaining distance has bit k set.

    ceil(log2 P) L + B n/P G, where B counts the set bits in all distances 1 .. P-1 (P/2 log2 P for
    powers of two): fewer messages for more bytes, the choice for small blocks.
    """
    size = checked(ranks, nbytes, latency, per_byte, overhead=overhead)
    blocks = sum(distance.bit_count() for distance in range(ranks))
    return ceil_log2(ranks) * (latency + 2 * overhead) + blocks * size / ranks * per_byte


def scan_linear(
    ranks: int,
    nbytes: Bytes,
    latency: float,
    per_byte: float,
    *,
    per_byte_reduced: float = 0.0,
    overhead: float = 0.0,
) -> Seconds:
    """Rank after rank adds its vector and passes the sum on: (P-1) (L + n (G + g))."""
    size = checked(ranks, nbytes, latency, per_byte, per_byte_reduced, overhead)
    step = latency + 2 * overhead + size * (per_byte + per_byte_reduced)
    return (ranks - 1) * step


def scan_recursive_doubling(
    ranks: int,
    nbytes: Bytes,
    latency: float,
    per_byte: float,
    *,
    per_byte_reduced: float = 0.0,
    overhead: float = 0.0,
) -> Seconds:
    """In step k add the vector of the rank 2^k below: ceil(log2 P) (L + n (G + g)).

    Exact for powers of two; else an upper bound, because no sum needs a message in every step.
    Hillis & Steele, "Data parallel algorithms", CACM 29(12), 1986.
    """
    size = checked(ranks, nbytes, latency, per_byte, per_byte_reduced, overhead)
    step = latency + 2 * overhead + size * (per_byte + per_byte_reduced)
    return ceil_log2(ranks) * step


def barrier_dissemination(ranks: int, latency: float, *, overhead: float = 0.0) -> float:
    """In step k tell the rank 2^k above, hear the rank 2^k below: ceil(log2 P) (L + 2 o).

    Exact for every P: after step k everybody has heard, at second hand, from 2^(k+1) ranks.
    Hensgen, Finkel & Manber, "Two algorithms for barrier synchronization", IJPP 17(1), 1988.
    """
    checked(ranks, 0.0, latency, 0.0, overhead=overhead)
    return ceil_log2(ranks) * (latency + 2 * overhead)
