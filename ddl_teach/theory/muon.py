"""Muon over ranks: what its steps cost, by which rank makes them.

A round of Newton-Schulz on an m x n matrix, m <= n, takes 4 m^2 n + 2 m^3 operations. For matrices
of N bytes in all on P ranks, all of which have a gradient of their own:

    way          bytes sent by all ranks  operations on the busiest rank   momentum on it
    everywhere   2 (P-1) N                all                              N
    owners       2 (P-1) N                those of the matrices it owns    what it owns
    gathered     3 (P-1) N                all                              N / P

*Gathered* cuts momentum evenly, as Liu et al., "Muon is scalable for LLM training", 2025. There
gradients are reduced and scattered, momentum is gathered, each rank makes all steps and keeps its
part of the weights, and weights are gathered.
What to look at: with more ranks than matrices, owners have nothing left to win.
"""

from collections.abc import Sequence

from ddl_teach.theory.inputs import count

Shapes = Sequence[tuple[int, ...]]


def operations(shape: tuple[int, ...], rounds: int = 5) -> int:
    """Multiplications and additions of these rounds."""
    m, n = sorted(shape)
    return rounds * (4 * m**2 * n + 2 * m**3)


def owners(shapes: Shapes, ranks: int) -> list[int]:
    """The rank of each matrix: the dearest first, each to the rank with the least work so far."""
    load, owner = [0] * count("ranks", ranks), [0] * len(shapes)
    for place in sorted(range(len(shapes)), key=lambda place: -operations(shapes[place])):
        owner[place] = load.index(min(load))
        load[owner[place]] += operations(shapes[place])
    return owner


def busiest(shapes: Shapes, ranks: int) -> int:
    """The operations of the rank that owns the most of them."""
    load = [0] * ranks
    for shape, rank in zip(shapes, owners(shapes, ranks), strict=True):
        load[rank] += operations(shape)
    return max(load)


def total_bytes(way: str, ranks: int, nbytes: int) -> int:
    """The bytes that all ranks send together for one step."""
    return {"everywhere": 2, "owners": 2, "gathered": 3}[way] * (ranks - 1) * nbytes
