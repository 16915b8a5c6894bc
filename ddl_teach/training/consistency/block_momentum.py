"""Blockwise model-update filtering (BMUF): the agreed step of each round keeps a momentum.

    change = mean over the workers of how far they came in this round
    v = momentum * v + change;    w = w + v

The mean of P workers is one worker's step with less noise, not P times as long. The momentum makes
up for that: steps in one direction add up to 1 / (1 - momentum) of them. The paper takes momentum
= 1 - 1/P. With `nesterov` a round begins where `v` alone would lead. With momentum 0 it is local
SGD. So it is DiLoCo whose outer rule has the rate 1. Chen and Huo, "Scalable training of deep
learning machines by incremental block training with intra-block parallel optimization and
blockwise model-update filtering", ICASSP 2016.
"""

from dataclasses import dataclass

from ddl_runtime.core.checks import amount
from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.diloco import DiLoCo
from ddl_teach.training.consistency.handles import Averages
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.nesterov import Nesterov


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
        amount(self.momentum or 0, "BlockMomentum: momentum", below=1)

    def run(self, worker: AnyWorker[Averages]) -> None:
        momentum = self.momentum
        if momentum is None:
            momentum = 1 - 1 / worker.handle.workers
        rule = Nesterov(1.0, momentum) if self.nesterov else Momentum(1.0, momentum)
        DiLoCo(self.period, rule).run(worker)
