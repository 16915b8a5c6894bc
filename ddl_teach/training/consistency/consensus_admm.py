"""Consensus ADMM: local SGD in which each worker keeps how far it is pulled off its own minimum.

    `period` steps along g_r(x_r) + rho (x_r - z + u_r)
    z = mean over the workers of x_r + u_r;    u_r = u_r + x_r - z

The local minimum that ADMM asks for is only approached, by a few steps of any rule. Where workers
have data of different kinds, local SGD ends where their drifts cancel, which need not be the
minimum of the sum: a worker far from its own makes longer steps. Here the prices u_r hold each
worker at z by exactly what its own data wants otherwise. Between two messages lie `period` steps.
Boyd, Parikh, Chu, Peleato and Eckstein, "Distributed optimization and statistical learning via the
alternating direction method of multipliers", 2011, sections 4.3 and 7. What to look at: with
hardly any penalty it begins as local SGD, with a large one no worker gets far from z.
"""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Averages
from ddl_teach.training.optimizers import admm


@dataclass(frozen=True)
class ConsensusADMM(Consistency[Averages]):
    """Rounds of `period` steps, each pulled towards what all agree on with this `penalty`."""

    period: int = 8
    penalty: float = 0.5
    needs = (Averages,)
    sends = "changes"

    def __post_init__(self) -> None:
        super().__post_init__()
        amount(self.penalty, "ConsensusADMM: penalty", zero=False)

    def run(self, worker: AnyWorker[Averages]) -> None:
        steps = iter(range(worker.steps))

        def local(centre: np.ndarray, penalty: float) -> np.ndarray:
            for step in islice(steps, self.period):
                worker.update(worker.gradient(step) + penalty * (worker.weights - centre))
            return worker.weights

        rounds = -(-worker.steps // self.period)
        ended = admm.consensus(
            worker.handle, local, worker.weights, penalty=self.penalty, rounds=rounds
        )
        worker.weights = ended.consensus
