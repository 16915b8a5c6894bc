"""DiLoCo: rounds of many steps alone; the mean of their changes is a gradient for a second rule.

    `period` steps of the worker's own rule (AdamW);    change = mean of how far the workers came
    outer rule (Nesterov's) on the agreed weights, with the gradient -change

A mean of weights forgets which way the last rounds went. The outer rule remembers it. With the
outer rule SGD(1) it is local SGD. Cost: an average in `period` steps, of a vector that may travel
in 4 bits. Douillard et al., "DiLoCo: distributed low-communication training of
language models", 2023; Reddi et al., "Adaptive federated optimization", ICLR 2021.
What to look at: `theory.slow_links` says when a round's average takes less time than its steps.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Averages
from ddl_teach.training.consistency.rounds import train_in_rounds
from ddl_teach.training.optimizers.nesterov import Nesterov
from ddl_teach.training.optimizers.update import Update

OUTER = Nesterov(0.7, 0.9)  # the paper's


@dataclass(frozen=True)
class DiLoCo(Consistency[Averages]):
    """Rounds of `period` steps, and an `outer` rule for what they came to."""

    period: int = 100
    outer: Update = OUTER
    needs = (Averages,)
    sends = "changes"

    def run(self, worker: AnyWorker[Averages]) -> None:
        states = [np.zeros_like(worker.weights) for _ in range(self.outer.states)]
        rounds = count(1)

        def agree(agreed: np.ndarray, change: np.ndarray) -> None:
            ahead = agreed.copy()
            self.outer(ahead, -change, states, next(rounds))
            change[:] = ahead - agreed

        train_in_rounds(worker, lambda step, agreed: self.period, agree)
