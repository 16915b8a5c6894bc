"""The machine of unit 09's puzzle: two nodes of four ranks, and sixteen experts to lie on them.

A rank has room for three experts, so an expert may lie on several ranks. A row goes to the nearest
copy of its expert: the one on its own rank; else those of its node in turns; else all in turns.
What to look at: the rank that computes longest, and the rows that cross from node to node.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_measure.experiments.layers import experts
from ddl_teach import Run, simulate
from ddl_teach.comm import Machine, TwoLevel, Uniform

RANKS, EXPERTS, ROOM, A_NODE = 8, 16, 3, 4
NETWORK = TwoLevel(A_NODE, inside=Uniform(1e-6, 20e9), between=Uniform(5e-6, 2e9))
LIKED = (6, 4, 8, 3, 5, 32, 4, 9, 3, 7, 2, 5, 6, 1, 4, 8)  # how much, and by its own node twice
ROWS = 512  # of each rank
GIVEN: dict[str, Any] = {
    "width": 1024, "hidden": 4096, "network": NETWORK, "machine": Machine(flops=10e12),
}  # fmt: skip
Held = Sequence[Sequence[int]]  # by rank: the experts that lie there


def wanted() -> list[list[int]]:
    """By rank and expert: how many rows. Node 0 has more for even experts, node 1 for odd ones."""
    every = []
    for rank in range(RANKS):
        own = np.arange(EXPERTS) % 2 == rank // A_NODE
        share = np.where(own, 2, 1) * np.array(LIKED)
        rows = ROWS * share // share.sum()
        rows[5] += ROWS - rows.sum()
        every.append(rows.tolist())
    return every


def sent(held: Held) -> tuple[list[list[int]], list[int]]:
    """By rank and copy how many rows go there, and the rank of each copy."""
    copies = [(expert, rank) for rank, own in enumerate(held) for expert in own]
    rows = [[0] * len(copies) for _ in range(RANKS)]
    for rank, own in enumerate(wanted()):
        for expert, many in enumerate(own):
            every = [place for place, copy in enumerate(copies) if copy[0] == expert]
            near = [place for place in every if copies[place][1] // A_NODE == rank // A_NODE]
            here = [place for place in near if copies[place][1] == rank]
            nearest = here or near or every
            for number in range(many):
                rows[rank][nearest[number % len(nearest)]] += 1
    return rows, [rank for _, rank in copies]


def layer(held: Held, *, trace: bool = False) -> Run:
    """One forward pass of the layer: rows to their experts, the experts' work, answers back."""
    rows, owners = sent(held)
    return simulate(experts, RANKS, rows=rows, owners=owners, trace=trace, **GIVEN)
