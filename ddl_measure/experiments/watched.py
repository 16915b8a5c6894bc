"""A task that remembers: which weights it was asked about, and when.

Accuracy on data held out costs time, and a training that stops for it is no longer the training
that one wants to time. So the weights are kept, a copy of a few kB at each gradient, and looked at
when all is over.
What to look at: `looks` are the weights *before* each gradient; the result comes after the last.
"""

from collections.abc import Callable

import numpy as np

from ddl_measure.to_accuracy import Evaluation
from ddl_teach.training.tasks.task import Task


class Watched:
    """`task`, for one worker; `now` is the clock, as `comm.now`."""

    def __init__(self, task: Task, now: Callable[[], float]) -> None:
        self._task, self._now = task, now
        self.looks: list[tuple[float, np.ndarray]] = []
        self.layers, self.shapes = task.layers, task.shapes
        self.initial, self.loss, self.accuracy = task.initial, task.loss, task.accuracy

    def gradient(
        self, weights: np.ndarray, part: int, parts: int, step: int
    ) -> tuple[float, np.ndarray]:
        self.look(weights)
        return self._task.gradient(weights, part, parts, step)

    def look(self, weights: np.ndarray) -> None:
        """Keep these weights as well, those after the last gradient for instance."""
        self.looks.append((self._now(), weights.copy()))

    def checkpoints(self, begun: float, epochs: float) -> list[Evaluation]:
        """Accuracies by seconds since `begun`; a gradient is worth so many `epochs`."""
        return [
            Evaluation(step, step * epochs, seconds - begun, 0.0, self._task.accuracy(weights))
            for step, (seconds, weights) in enumerate(self.looks)
        ]
