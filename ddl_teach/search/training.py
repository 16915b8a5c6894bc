"""What a search advances: a training that can be stopped, kept, and continued anywhere.

    advance(settings, state, steps, seed) -> (state, loss)

`state` is None at first and plain data after that (a dict of arrays and numbers). So it can lie in
a file or travel to another rank. The same arguments give the same result, to the bit. Trained on
one part of the data, compared by the loss on a second; the third, the test part, only the winner
sees: the best of many losses is partly luck, and looks better where it was chosen.
What to look at: 2 x 10 steps end where 20 steps end.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.search.attempt import Advanced, State
from ddl_teach.search.decider import Settings
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.task import Task


def advanced(task: Task, rule: Momentum, state: State | None, steps: int) -> State:
    """The state after `steps` more steps of `task`, by a rule that keeps one moment."""
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
        unknown = set(settings) - {"rate", "momentum", "hidden", "batch"}
        if unknown or "rate" not in settings:
            raise ValueError(
                f"DigitsTraining: the settings are {sorted(settings)}; it needs rate and knows "
                "momentum, hidden and batch beside it"
            )
        batch, hidden = settings.get("batch", self.batch), settings.get("hidden", self.hidden)
        task = Digits(batch, hidden, seed, validation=True)
        rule = Momentum(settings["rate"], settings.get("momentum", self.momentum))
        with np.errstate(all="ignore"):  # a rate that is too large ends in a loss that says so
            state = advanced(task, rule, state, steps)
            return state, task.loss(state["weights"])

    def test(self, settings: Settings, state: State) -> float:
        """The share of the test part that is recognised: for the winner, once."""
        hidden = settings.get("hidden", self.hidden)
        return Digits(hidden=hidden).accuracy(state["weights"])
