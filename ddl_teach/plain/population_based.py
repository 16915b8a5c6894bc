"""Population-based training: the worst of a population go on from the weights of the best.

    all members train; all ranks learn all losses; each of the worst `share` takes weights and
    settings of one of the best `share` (exploit), and changes the settings (explore); once more

Cost: members x generations trainings, as random search, but it finds a schedule of settings. In a
generation travel one loss of each member, and n bytes of weights for each of the worst.
Jaderberg et al., "Population based training of neural networks", 2017; there members do not wait
for each other.
What to look at: no rank leads. All know all losses and draw the same random numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allreduce


def train(
    comm: Comm, weights: list[np.ndarray], settings: list[Any], advance: Callable[..., float],
    explore: Callable[..., Any], generations: int, share: float, random: np.random.Generator,
) -> list[np.ndarray]:  # fmt: skip
    """Train in place; member m is trained on rank m mod P. Returns the losses by generation.

    `advance(weights, settings)` trains in place and returns the loss. `explore(settings, member,
    generation)` returns new settings. `random` draws the same on all ranks.
    """
    members = len(weights)
    history: list[np.ndarray] = []
    mine = range(comm.rank, members, comm.size)
    few = int(share * members)
    for generation in range(generations):
        if generation > 0:
            order = np.argsort(history[-1], kind="stable")
            best, worst = np.sort(order[:few]), np.sort(order[members - few :])
            parents = dict(zip(worst.tolist(), random.choice(best, few).tolist(), strict=True))
            copy(comm, weights, parents, mine)
            for child, parent in parents.items():
                settings[child] = explore(settings[parent], child, generation)
        losses = np.zeros(members)
        for member in mine:
            losses[member] = advance(weights[member], settings[member])
        allreduce(comm, losses)  # each loss stands on one rank, with zeros on the others
        history.append(losses)
    return history


def copy(comm: Comm, weights: list[np.ndarray], parents: dict[int, int], mine: range) -> None:
    """Bring the weights of each parent to the rank of its child."""
    sending = []
    for child, parent in parents.items():
        if parent in mine:
            sending.append(comm.isend(weights[parent], child % comm.size))
        if child in mine:
            comm.recv(weights[child], parent % comm.size)
    for request in sending:
        request.wait()
