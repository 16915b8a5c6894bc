"""Ring attention on paper: the bytes that go round, and the work of each rank.

A rank's block of keys and values has n_r bytes, all together n. Then rank r sends

    forward     n - n_(r+1)              every block but the one that ends its journey here
    backward    n - n_(r+1)  +  n        the same again, and all gradients, which must come home

with equal blocks 3n - 2n/P together. The work per rank is T^2/P pairs of a query and a key, so
long texts hide it. Liu, Zaharia and Abbeel, "Ring attention with blockwise transformers for
near-infinite context", 2023.
What to look at: under a causal mask `pairs` are what a rank really computes in each step.
"""

from collections.abc import Sequence


def sent(blocks: Sequence[int], rank: int) -> tuple[int, int]:
    """Bytes that `rank` sends forward and backward, when rank r's block has `blocks[r]` bytes."""
    if len(blocks) == 1:
        return 0, 0
    passed_on = sum(blocks) - blocks[(rank + 1) % len(blocks)]
    return passed_on, passed_on + sum(blocks)


def pairs(positions: Sequence[Sequence[int]], rank: int, step: int) -> int:
    """Pairs of a query and a key before it, of which `rank` computes the score in this `step`."""
    owner = (rank - step) % len(positions)
    return sum(key <= query for query in positions[rank] for key in positions[owner])


def slowest(positions: Sequence[Sequence[int]]) -> int:
    """Pairs on the critical path: in each step all wait for the rank with the most pairs."""
    ranks = range(len(positions))
    return sum(max(pairs(positions, rank, step) for rank in ranks) for step in ranks)
