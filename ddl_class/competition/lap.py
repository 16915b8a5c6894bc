"""One training against the clock: the team's function learns, the judges look.

    def train(comm, make_task, look):
        task = make_task(batch=16)
        ...
        if look(weights, samples): return

All ranks call `look` together. The clock stands still while rank 0 asks the data held out; it
answers True once the target was met as often in a row as it must be, or time is up.
What to look at: a look costs no time on the clock, but the training does not know its weights
better for it. How often to look is a part of the art: the clock runs until the last look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ddl_class.competition.disciplines import DISCIPLINES, Discipline
from ddl_measure.to_accuracy import Evaluation, reached
from ddl_teach.collectives import tree
from ddl_teach.comm import Comm
from ddl_teach.training.tasks.task import Task

MakeTask = Callable[[int], Task]


class Train(Protocol):
    """What a team writes."""

    def __call__(self, comm: Comm, make_task: MakeTask, look: Look) -> None: ...


class Look:
    """The judges' eye: `look(weights, samples)`, with the samples of all ranks so far."""

    def __init__(self, comm: Comm, discipline: Discipline, seed: int) -> None:
        self._comm, self._discipline = comm, discipline
        self._task, self._epoch = discipline.task(1, seed), discipline.data().training
        self.checkpoints: list[Evaluation] = []
        self._away = 0.0  # seconds that all looks have taken
        comm.barrier()
        self._begun = comm.now()

    def __call__(self, weights: np.ndarray, samples: int) -> bool:
        """Whether the training may end."""
        self._comm.barrier()  # the slowest rank is on the clock
        came = self._comm.now()
        enough = np.zeros(1)
        if self._comm.rank == 0:
            seconds = came - self._begun - self._away
            self.checkpoints.append(
                Evaluation(
                    len(self.checkpoints) + 1, samples / self._epoch, seconds, self._away,
                    self._task.accuracy(weights),
                )
            )  # fmt: skip
            enough[0] = self._met or seconds > self._discipline.limit
        tree.broadcast(self._comm, enough)
        self._comm.barrier()
        self._away += self._comm.now() - came
        return bool(enough[0])

    @property
    def _met(self) -> bool:
        goal = self._discipline
        return reached(self.checkpoints, goal.accuracy, goal.in_a_row) is not None


def lap(comm: Comm, train: Train, discipline: str, seed: int) -> tuple[Evaluation, ...]:
    """A rank program: all looks at one training, on rank 0."""
    rules = DISCIPLINES[discipline]
    look = Look(comm, rules, seed)
    train(comm, lambda batch: rules.task(batch, seed), look)
    if comm.rank == 0 and not look.checkpoints:
        raise ValueError(
            "train ended without a look: call look(weights, samples) every so many steps, on all "
            "ranks, and return once it is True"
        )
    return tuple(look.checkpoints)
