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

from ddl_teach.theory.inputs import Bytes, Seconds, ceil_log2, formula_of, larger


@formula_of
def broadcast_linear(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """The root sends the vector P-1 times, one after another: L + (P-1) n G.

    With overhead each (blocking) send takes the root o + n G, and the last receiver another o.
    """
    return 0.0 * n if P == 1 else L + o + (P - 1) * (o + n * G)


@formula_of
def broadcast_tree(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Whoever has the vector sends it on; the number of those doubles: ceil(log2 P) (L + n G)."""
    return ceil_log2(P) * (L + 2 * o + n * G)


@formula_of
def reduce_linear(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """All send to the root, which combines as they arrive: L + (P-1) n G.

    The port takes in one vector while the processor (o + n g each) combines the one before, so the
    slower of the two sets the pace: o + L + n G + (o + n g) + (P-2) max(n G, o + n g).
    """
    if P == 1:
        return 0.0 * n
    return o + L + n * G + o + n * g + (P - 2) * larger(n * G, o + n * g)


@formula_of
def reduce_tree(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Pairs combine, then pairs of pairs: ceil(log2 P) (L + n G + n g)."""
    return ceil_log2(P) * (L + 2 * o + n * (G + g))


@formula_of
def gather_linear(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """All send their n/P to the root: L + (P-1)/P n G, which no gather can beat."""
    return reduce_linear(P, n / P, L, G, 0.0, o)


@formula_of
def gather_tree(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """Pairs gather, then pairs of pairs, twice as much each time: ceil(log2 P) L + (P-1)/P n G."""
    return ceil_log2(P) * (L + 2 * o) + (P - 1) / P * n * G


@formula_of
def scatter_linear(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """The root sends everybody its n/P: L + (P-1)/P n G, which no scatter can beat."""
    return broadcast_linear(P, n / P, L, G, g, o)


@formula_of
def scatter_tree(P: int, n: Bytes, L: float, G: float, g: float, o: float) -> Seconds:
    """The root sends away half, each holder half of that: ceil(log2 P) L + (P-1)/P n G."""
    return gather_tree(P, n, L, G, g, o)
