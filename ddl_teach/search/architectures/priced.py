"""An error that pays for time: so a search finds networks that scale.

    loss = error x (seconds / target)^power

`seconds` are those of a data-parallel step, as a function predicts them from the genotype:
computing and averaging gradients on all ranks. With power 0.3 a network that is twice as fast may
have 23% more errors and is worth the same; with 0 time plays no role. A product, not a limit: so a
search comes near the front from all sides. Tan, Chen, Pang, Vasudevan, Sandler, Howard and Le,
"MnasNet: platform-aware neural architecture search for mobile", CVPR 2019, section 3, with
accuracies and measured latencies.
What to look at: which head wins. Where messages are dear, it has few weights.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ddl_teach.search.architectures.train_cells import CellTraining
from ddl_teach.search.attempt import Advanced, State
from ddl_teach.search.job import Settings


@dataclass(frozen=True)
class Priced:
    """A training whose error is priced by the seconds of a step."""

    training: CellTraining
    seconds: Callable[[Settings], float]
    target: float = 1e-3
    power: float = 0.3

    def __call__(self, settings: Settings, state: State | None, steps: int, seed: int) -> Advanced:
        """So many more steps; the state after them, and the priced error."""
        state, error = self.training(settings, state, steps, seed)
        return state, error * (self.seconds(settings) / self.target) ** self.power
