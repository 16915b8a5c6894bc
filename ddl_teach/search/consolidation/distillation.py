"""Distillation: one network learns to answer as a teacher does, an ensemble for instance.

The loss, and what it is good for, stand in `plain.distillation`. With q the teacher's
probabilities at temperature T, p_T = softmax(scores / T), and means over samples, the

    gradient by the scores = soft T (p_T - q)  +  (1 - soft) (p_1 - right answer)

What to look at: the student is one network's work and memory, whatever the teacher was. It is a
task like any other, so any WHEN, path and form trains it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.training.tasks.digits import Digits, surprise
from ddl_teach.training.tasks.perceptron import softmax
from ddl_teach.training.tasks.task import LossAndGradient, Task


def loss(
    scores: np.ndarray, teacher: np.ndarray, answers: np.ndarray, temperature: float, soft: float
) -> tuple[float, np.ndarray]:
    """Scores against a teacher's probabilities and the answers: the loss, and its gradient."""
    softened, plain = softmax(scores, temperature), softmax(scores)
    crossed = -np.sum(
        teacher * np.log(np.maximum(softened, np.finfo(softened.dtype).tiny)), axis=1
    )
    total = soft * temperature**2 * float(crossed.mean()) + (1 - soft) * surprise(plain, answers)
    plain[np.arange(len(answers)), answers] -= 1
    towards = soft * temperature * (softened - teacher) + (1 - soft) * plain
    return total, (towards / len(answers)).astype(scores.dtype)


@dataclass(frozen=True, eq=False)
class Distilled(Task):
    """A student of `digits` (its width, start, batch and data) and of a `teacher`: a table of its
    probabilities at the temperature. A `rule` of your own may take the place of `loss`."""

    digits: Digits
    teacher: np.ndarray
    temperature: float = 3.0
    soft: float = 0.9
    rule: Callable[..., tuple[float, np.ndarray]] = loss

    def __post_init__(self) -> None:
        needed = len(self.digits.pictures.answers), self.digits.network.outputs
        if np.shape(self.teacher) != needed:
            raise ValueError(
                f"teacher has shape {np.shape(self.teacher)}, and must have {needed}: its scores "
                "for each training picture"
            )
        amount(self.temperature, "temperature", zero=False)
        amount(self.soft, "soft, the teacher's share of the loss,", most=1)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return self.digits.shapes

    def initial(self) -> np.ndarray:
        return self.digits.initial()

    def gradient(self, weights: np.ndarray, part: int, parts: int, step: int) -> LossAndGradient:
        data, chosen = self.digits.pictures, self.digits.places(part, parts, step)
        shown, network = data.learnt[chosen], self.digits.network
        hidden, scores = network.forward(weights, shown)
        error, towards = self.rule(
            scores, self.teacher[chosen], data.answers[chosen], self.temperature, self.soft
        )
        return error, network.backward(weights, shown, hidden, towards)

    def loss(self, weights: np.ndarray) -> float:
        """Against the true answers of the pictures held out, as of any student."""
        return self.digits.loss(weights)

    def accuracy(self, weights: np.ndarray) -> float:
        return self.digits.accuracy(weights)
