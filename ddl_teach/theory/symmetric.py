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

from ddl_teach.theory.inputs import Bytes, Seconds, ceil_log2, checked, formula_of, power_of_two


@formula_of
def reduce_scatter_ring(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Each block travels once round and collects a summand per rank: (P-1) (L + n/P (G + g))."""
    return (P - 1) * (L + 2 * o + n / P * (G + g))


@formula_of
def reduce_scatter_recursive_halving(
    P: int, n: Bytes, L: float, G: float, g: float, o: float
) -> Seconds:
    """Swap halves with a far partner, quarters with a nearer one: log2 P L + (P-1)/P n (G + g).

    For powers of two; other rank counts are refused.
    """
    power_of_two("recursive halving", P)
    return ceil_log2(P) * (L + 2 * o) + (P - 1) / P * n * (G + g)


@formula_of
def allgather_ring(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Each block travels once round: (P-1) (L + n/P G)."""
    return (P - 1) * (L + 2 * o + n / P * G)


@formula_of
def allgather_recursive_doubling(
    P: int, n: Bytes, L: float, G: float, g: float, o: float
) -> Seconds:
    """Swap all you have with a partner, twice as much each time: log2 P L + (P-1)/P n G.

    For powers of two; `allgather_bruck` costs the same and takes any rank count.
    """
    power_of_two("the all-gather by recursive doubling", P)
    return ceil_log2(P) * (L + 2 * o) + (P - 1) / P * n * G


@formula_of
def allgather_bruck(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Send all you have to the rank 1, 2, 4 ... below: ceil(log2 P) L + (P-1)/P n G."""
    return ceil_log2(P) * (L + 2 * o) + (P - 1) / P * n * G


@formula_of
def alltoall_pairwise(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """In step k send one block to the rank k above, take one from the rank k below.

    (P-1) (L + n/P G): no byte travels twice, so it is the choice for large blocks.
    """
    return (P - 1) * (L + 2 * o + n / P * G)


@formula_of
def alltoall_bruck(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """In step k send on, by 2^k ranks, the blocks whose remaining distance has bit k set.

    ceil(log2 P) L + B n/P G, where B counts the set bits in all distances 1 .. P-1 (P/2 log2 P for
    powers of two): fewer messages for more bytes, the choice for small blocks.
    """
    B = sum(distance.bit_count() for distance in range(P))
    return ceil_log2(P) * (L + 2 * o) + B * n / P * G


@formula_of
def scan_linear(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Rank after rank adds its vector and passes the sum on: (P-1) (L + n (G + g))."""
    return (P - 1) * (L + 2 * o + n * (G + g))


@formula_of
def scan_recursive_doubling(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """In step k add the vector of the rank 2^k below: ceil(log2 P) (L + n (G + g)).

    Exact for powers of two; else an upper bound, because no sum needs a message in every step.
    Hillis & Steele, "Data parallel algorithms", CACM 29(12), 1986.
    """
    return ceil_log2(P) * (L + 2 * o + n * (G + g))


def barrier_dissemination(ranks: int, latency: float, *, overhead: float = 0.0) -> float:
    """In step k tell the rank 2^k above, hear the rank 2^k below: ceil(log2 P) (L + 2 o).

    Exact for every P: after step k everybody has heard, at second hand, from 2^(k+1) ranks.
    Hensgen, Finkel & Manber, "Two algorithms for barrier synchronization", IJPP 17(1), 1988.
    """
    checked(ranks, 0.0, latency=latency, overhead=overhead)
    return ceil_log2(ranks) * (latency + 2 * overhead)
