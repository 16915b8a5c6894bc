"""Adaptive local SGD: agree the more often, the smaller the loss has become.

    period = ceil(sqrt(loss now / loss at the beginning) * first period)

The drift between agreements adds an error that steps do not reduce. At first the loss is far above
it and messages would be wasted; at the end nothing else is left of the loss. Wang and Joshi,
"Adaptive communication strategies to achieve the best error-runtime trade-off in local-update
SGD", MLSys 2019 (AdaComm). What to look at: all workers find the same period without a message,
from the loss of the same few samples at the same weights.
"""

import math
from dataclasses import dataclass

import numpy as np

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Averages
from ddl_teach.training.consistency.rounds import train_in_rounds


@dataclass(frozen=True)
class AdaptiveLocalSGD(Consistency[Averages]):
    """`period` steps alone at first, fewer as the loss falls."""

    period: int = 16
    needs = (Averages,)
    sends = "changes"

    def run(self, worker: AnyWorker[Averages]) -> None:
        first = worker.common_loss(worker.weights)

        def period(step: int, agreed: np.ndarray) -> int:
            now = worker.common_loss(agreed)
            if not 0 < now < first:
                return self.period if now else 1
            wanted: float = (now / first) ** 0.5 * self.period
            return math.ceil(wanted)

        train_in_rounds(worker, period)
