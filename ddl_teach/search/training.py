"""What a search advances: a training that can be stopped, kept, and continued anywhere.

    advance(settings, state, steps, seed) -> (state, loss)

A plain function. `state` is None at first and plain data after that (a dict of arrays and
numbers), so that it can lie in a file or travel to another rank; `steps` are how many more. The
same arguments give the same result, to the bit, or no search could be repeated.
Three parts of the data: trained on the first, compared by the loss on the second, and the third,
the test part, is looked at once, by the winner. The best of many losses is partly luck: on the
part where it was chosen it looks better than it is.
What to look at: 2 x 10 steps end where 20 steps end.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.search.attempt import Advanced, State
from ddl_teach.search.job import Settings
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.task import Task


def advanced(task: Task, rule: Momentum, state: State | None, steps: int) -> State:
    """`task` trained for so many more steps, by a rule that keeps one moment."""
    if state is None:
        weights = task.initial()
        state = {"weights": weights, "moment": np.zeros_like(weights), "step": 0}
    weights, moment, done = state["weights"].copy(), state["moment"].copy(), state["step"]
    for step in range(done, done + steps):
        _, gradient = task.gradient(weights, part=0, parts=1, step=step)
        rule(weights, gradient, [moment], step + 1)
    return {"weights": weights, "moment": moment, "step": done + steps}


@dataclass(frozen=True)
class DigitsTraining:
    """A perceptron on the handwritten digits, by momentum.

    Settings: `rate`, and if they are searched for, `momentum`, `hidden` units and the `batch`.
    """

    momentum: float = 0.9
    hidden: int = 32
    batch: int = 16

    def __call__(self, settings: Settings, state: State | None, steps: int, seed: int) -> Advanced:
        """So many more steps; the state after them, and the loss on the validation part."""
        task = self._task(settings, seed)
        rule = Momentum(settings["rate"], settings.get("momentum", self.momentum))
        with np.errstate(all="ignore"):  # a rate that is too large ends in a loss that says so
            state = advanced(task, rule, state, steps)
            return state, task.loss(state["weights"])

    def test(self, settings: Settings, state: State) -> float:
        """The share of the test part that is recognised: for the winner, once."""
        hidden = settings.get("hidden", self.hidden)
        return Digits(hidden=hidden).accuracy(state["weights"])

    def _task(self, settings: Settings, seed: int) -> Digits:
        unknown = set(settings) - {"rate", "momentum", "hidden", "batch"}
        if unknown or "rate" not in settings:
            raise ValueError(
                f"DigitsTraining: the settings are {sorted(settings)}; it needs rate and knows "
                "momentum, hidden and batch beside it"
            )
        return Digits(
            batch=settings.get("batch", self.batch),
            hidden=settings.get("hidden", self.hidden),
            seed=seed,
            validation=True,
        )
