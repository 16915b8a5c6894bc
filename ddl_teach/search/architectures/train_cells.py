"""A cell's own training on the digits, as a search advances it: the costly and honest score.

The loss that the search sees is the share of wrong answers in the validation part. 1,149 pictures
are to learn from, 288 to compare by, and 360 only the winner sees.
What to look at: how noisy 288 pictures are: 5% of errors have a standard deviation of 1.3%.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from ddl_teach.networks.models.loss import Batch
from ddl_teach.search.architectures.network import IMAGE, standing_alone
from ddl_teach.search.attempt import Advanced, State
from ddl_teach.search.decider import Settings
from ddl_teach.search.training import advanced
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.tasks.digits import pictures
from ddl_teach.training.tasks.network_task import NetworkTask


@dataclass(frozen=True)
class CellTraining:
    """Momentum on the network of a genotype; the settings are the genotype."""

    channels: int = 8
    batch: int = 32
    rate: float = 0.05
    momentum: float = 0.9
    where: str = "cpu"

    def on(self, device: str) -> "CellTraining":
        return replace(self, where=device)

    def __call__(self, settings: Settings, state: State | None, steps: int, seed: int) -> Advanced:
        network = standing_alone(settings, self.channels, seed)
        task = NetworkTask(network, to_learn(), self.batch, seed=seed).on(self.where)
        state = advanced(task, Momentum(self.rate, self.momentum), state, steps)
        return state, 1 - task.accuracy(state["weights"])

    def test(self, settings: Settings, state: State) -> float:
        """The share of the test part that is recognised: for the winner, once."""
        network, data = standing_alone(settings, self.channels), pictures()
        task = NetworkTask(network, _as_batch(data.held_out, data.held_out_answers), every=1)
        return task.on(self.where).accuracy(state["weights"])


@dataclass(frozen=True)
class Priced:
    """A training whose error pays for time, so that a search finds networks that scale.

        loss = error x (seconds / target)^power

    `seconds` are those of a data-parallel step, as a function predicts them from the genotype.
    With power 0.3 a network that is twice as fast may have 23% more errors and is worth the same.
    A product, not a limit: so a search comes near the front from all sides. Tan, Chen, Pang,
    Vasudevan, Sandler, Howard and Le, "MnasNet: platform-aware neural architecture search for
    mobile", CVPR 2019, section 3, with accuracies and measured latencies.
    What to look at: which head wins. Where messages are dear, it has few weights.
    """

    training: CellTraining
    seconds: Callable[[Settings], float]
    target: float = 1e-3
    power: float = 0.3

    def __call__(self, settings: Settings, state: State | None, steps: int, seed: int) -> Advanced:
        state, error = self.training(settings, state, steps, seed)
        return state, error * (self.seconds(settings) / self.target) ** self.power


def to_learn() -> Batch:
    """All pictures but those of the test part; `NetworkTask` holds every fifth of them out."""
    data = pictures()
    return _as_batch(data.learnt, data.answers)


def _as_batch(images: np.ndarray, answers: np.ndarray) -> Batch:
    # Copies: torch wants none of the read-only arrays that all simulated ranks share.
    return torch.tensor(images).reshape(-1, *IMAGE), torch.tensor(answers)
