"""Successive halving: all trials for a few steps, the best 1/eta of them eta times as long, ...

    rung k has n = floor(trials / eta^k) trials, and each trains for floor(trials least / n) steps

more than before, so each rung takes the same number of steps in all, trials x least.
Cost with r rungs: r trials least steps. To train all trials as long as the winner would take
(eta^r - 1) / (eta - 1) trials least. Communication: one small all-reduce a rung.
Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization",
AISTATS 2016. What to look at: trial t stays on rank t mod P. A rung ends with its slowest rank,
and in the last rungs most ranks have no trial left.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allreduce

Advance = Callable[[int, Any, int], tuple[Any, float]]  # trial, state, steps: new state and loss


def search(
    comm: Comm, advance: Advance, trials: int, eta: int, least: int
) -> list[dict[int, float]]:
    """For each rung the loss of each of its trials, best first; the state is None at first."""
    states, rungs = dict.fromkeys(range(trials)), []
    entered = list(range(trials))
    while entered:
        losses = np.zeros(len(entered))
        for place, trial in enumerate(entered):
            if trial % comm.size == comm.rank:
                steps = trials * least // len(entered)
                states[trial], losses[place] = advance(trial, states[trial], steps)
        allreduce(comm, losses)  # each loss stands on one rank, with zeros on the others
        order = np.argsort(losses, kind="stable")  # of equal losses the smaller trial is first
        rungs.append({entered[place]: float(losses[place]) for place in order})
        entered = sorted(list(rungs[-1])[: len(entered) // eta])
    return rungs
