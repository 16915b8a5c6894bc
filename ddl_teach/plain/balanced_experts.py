"""Experts that are loaded alike: a bias on their choice, and copies on spare places.

    e = argmax(p(x) + b),   then   b_e = b_e + speed sign(mean load - load_e)

The bias b decides which expert a token takes, and never counts in the answer: so it needs no
gradient and no loss of its own. What stays uneven is placed: each spare place takes a copy of the
expert whose copies have most to do. The heaviest copies are placed first, each on the rank with
the least load that has a place left.
Cost: no message, as all ranks know all loads. In training, copies add up their gradients.
Wang et al., "Auxiliary-loss-free load balancing strategy for mixture-of-experts", arXiv 2024;
DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2024.
What to look at: the bias stops only where loads are equal.
"""

import numpy as np


def next_bias(bias: np.ndarray, loads: np.ndarray, speed: float) -> np.ndarray:
    """Up for experts with less than the mean load, down for those with more."""
    moved: np.ndarray = bias + speed * np.sign(loads.mean() - loads)
    return moved


def spare_copies(loads: np.ndarray, places: int) -> np.ndarray:
    """How many copies each expert has, when all places are taken."""
    copies = np.ones(len(loads), int)
    for _ in range(places - len(loads)):
        copies[np.argmax(loads / copies)] += 1
    return copies


def pack(loads: np.ndarray, copies: np.ndarray, ranks: int) -> list[list[int]]:
    """The experts that each rank holds."""
    room = copies.sum() // ranks
    parts = loads / copies
    held: list[list[int]] = [[] for _ in range(ranks)]
    each = np.repeat(np.arange(len(loads)), copies)
    for expert in sorted(each, key=lambda expert: -parts[expert]):
        free = [rank for rank in range(ranks) if len(held[rank]) < room]
        rank = min(free, key=lambda rank: sum(parts[held[rank]]))
        held[rank].append(int(expert))
    return held
