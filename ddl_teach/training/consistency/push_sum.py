"""Push-sum (SGP): gossip where links go one way and some ranks receive from more than others.

    (x_i, m_i)  <-  sum over j of A_ij (x_j, m_j)         A: columns sum to 1, rows need not
    z_i = x_i / m_i                                       gradients are computed at z_i

Each rank cuts its vector and a number, its mass, into equal shares, keeps one, sends the others.
Some ranks collect too much of both, and the quotient is right again: a rank only needs to know to
how many it sends. A step moves z_i by rate / m_i: a rank that receives from few has a small mass
and makes long steps. Kempe, Dobra and Gehrke, "Gossip-based computation of aggregate information",
2003; Assran et al., "Stochastic gradient push for distributed deep learning", ICML 2019.
What to look at: masses are far from 1 and their mean is always 1; without them popular ranks would
count for more.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import SyncHandle


@runtime_checkable
class PushesSums(SyncHandle, Protocol):
    """A handle on a graph whose links may go one way."""

    def push_sum(self, vector: np.ndarray, mass: float, step: int) -> float:
        """Send shares of vector and mass, keep one, add what comes; returns the new mass."""


@dataclass(frozen=True)
class PushSum(Consistency[PushesSums]):
    """A step with one's own gradient, then push; runs on any graph that connects all."""

    needs = (PushesSums,)
    sends = "weights"

    def run(self, worker: AnyWorker[PushesSums]) -> None:
        mass = 1.0
        for step in range(worker.steps):
            gradient = worker.gradient(step)
            worker.weights *= mass  # from z to x
            worker.update(gradient)
            mass = worker.handle.push_sum(worker.weights, mass, step)
            worker.weights /= mass
