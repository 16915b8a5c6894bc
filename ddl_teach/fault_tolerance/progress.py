"""How far a synchronous training has come, counted so that any number of ranks can go on.

The data are one endless sequence of numbered batches (`training.consistency.shares`). A step takes
the next few batches: rank r of P takes number r and every P-th after it. Then all ranks average
their gradients. The count of batches that were *taken* is kept. Computed from the step and P it
would jump when P changes, and samples would be seen twice or never. With fewer ranks there are two
ways to go on:

    the batch is kept     the survivors share it: the same training, ceil(B/P') / (B/P) as long
                          a step, and bits that differ by the order of a sum only
    the batch shrinks     one batch a rank: steps as long as before, each sees fewer samples; so
                          its rate shrinks by the same factor (linear scaling, Goyal et al. 2017)

What to look at: `step`, `taken`, the weights and the optimizer's states are all that a checkpoint
holds and that a new rank needs. None of it is random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ddl_runtime.core.checks import one_of, whole_number
from ddl_teach.training.consistency.rates import linear_scaling
from ddl_teach.training.optimizers.settings import at
from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.tasks.task import Task

Sum = Callable[[np.ndarray], None]  # over all ranks, in place


@dataclass
class TrainingProgress:
    """All that the next step needs; the same on all ranks."""

    step: int
    taken: int
    weights: np.ndarray
    states: list[np.ndarray]

    def state(self) -> dict[str, Any]:
        states = {f"state {number}": state for number, state in enumerate(self.states)}
        return {"step": self.step, "taken": self.taken, "weights": self.weights, **states}

    @classmethod
    def of(cls, state: dict[str, Any]) -> TrainingProgress:
        states = [value for name, value in state.items() if name.startswith("state ")]
        return cls(state["step"], state["taken"], state["weights"], states)


@dataclass(frozen=True)
class TrainingPlan:
    """What is learnt, by which rule, for how many steps: right for `ranks` ranks. `keep` says
    what stays as it is when there are others: the "batch", or each rank's "share" of it."""

    task: Task
    rule: Update
    steps: int
    ranks: int
    keep: str = "batch"

    def __post_init__(self) -> None:
        one_of(self.keep, "thing to keep", ("batch", "share"))
        whole_number(self.steps, "Plan: steps", 0), whole_number(self.ranks, "Plan: ranks", 1)

    def begin(self) -> TrainingProgress:
        weights = self.task.initial()
        states = [np.zeros_like(weights) for _ in range(self.rule.states)]
        return TrainingProgress(0, 0, weights, states)

    def step(self, progress: TrainingProgress, rank: int, ranks: int, add_up: Sum) -> None:
        """One step of this rank among others. Until all gradients are added up nothing changes,
        so a step in which a rank is lost can be done again."""
        batches = self.ranks if self.keep == "batch" else ranks
        total = np.zeros_like(progress.weights)
        for number in range(rank, batches, ranks):
            total += self.task.gradient(progress.weights, 0, 1, progress.taken + number)[1]
        add_up(total)
        total /= batches
        self.rule_for(batches)(progress.weights, total, progress.states, progress.step + 1)
        progress.step += 1
        progress.taken += batches

    def rule_for(self, batches: int) -> Update:
        if batches == self.ranks:
            return self.rule
        rate, reference = self.rule.rate, self.ranks
        return replace(
            self.rule, rate=lambda step: linear_scaling(at(rate, step), batches, reference)
        )
