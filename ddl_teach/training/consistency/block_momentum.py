"""Blockwise model-update filtering (BMUF): the agreed step of each round keeps a momentum.

    change = mean over the workers of how far they came in this round
    velocity = momentum * velocity + change;    w = w + velocity

The mean of P workers is one worker's step with less noise, not P times as long. The momentum makes
up for that: steps in one direction add up to 1 / (1 - momentum) of them. Chen and Huo, "Scalable
training of deep learning machines by incremental block training with intra-block parallel
optimization and blockwise model-update filtering", ICASSP 2016, take momentum = 1 - 1/P; with
`nesterov` a round begins where the velocity alone would lead. With momentum 0 it is local SGD.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Averages
from ddl_teach.training.consistency.rounds import train_in_rounds
from ddl_teach.training.optimizers.settings import check_amount


@dataclass(frozen=True)
class BlockMomentum(Consistency[Averages]):
    """Rounds of `period` steps; without a `momentum` it is 1 - 1/P."""

    period: int = 8
    momentum: float | None = None
    nesterov: bool = False
    needs = (Averages,)
    sends = "changes"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_amount("BlockMomentum: momentum", self.momentum or 0, below=1)

    def run(self, worker: AnyWorker[Averages]) -> None:
        momentum = self.momentum
        if momentum is None:
            momentum = 1 - 1 / worker.handle.workers
        velocity = np.zeros_like(worker.weights)

        def agree(agreed: np.ndarray, change: np.ndarray) -> None:
            velocity[:] = momentum * velocity + change
            # One step ahead: this round's change, and already the next one's momentum.
            change[:] = change + momentum * velocity if self.nesterov else velocity

        train_in_rounds(worker, lambda step, agreed: self.period, agree)
