"""The handwritten digits and a perceptron of two layers, in NumPy: fast, and nothing hidden.

    hidden = max(0, x W1 + b1);    scores = hidden W2 + b2;    loss = -log softmax(scores)[answer]

A step of a few samples takes tens of microseconds, so hundreds of simulated workers train in
seconds. Every fifth of the 1,797 pictures is held out. Alpaydin and Kaynak, "Optical recognition
of handwritten digits", 1998. With `skewed` each worker sees a few digits only.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from ddl_runtime.core.checks import whole_number
from ddl_teach.networks.models.digits_table import digits_table
from ddl_teach.training.consistency.shares import share, share_of_a_kind
from ddl_teach.training.tasks.perceptron import Perceptron, softmax
from ddl_teach.training.tasks.task import Factors, LossAndGradient, Task

PIXELS, CLASSES = 64, 10
EVERY = 5  # of so many pictures one is held out


class Pictures(NamedTuple):
    """Pictures to learn from and pictures held out, with their answers."""

    learnt: np.ndarray
    answers: np.ndarray
    held_out: np.ndarray
    held_out_answers: np.ndarray


@dataclass(frozen=True)
class Digits(Task):
    """`batch` samples for each worker and step; `hidden` units; numbers of `dtype`. With
    `validation` a fifth of the pictures to learn from is held out instead: a search looks at what
    it chooses by again and again, and the others must stay unseen."""

    batch: int = 16
    hidden: int = 32
    seed: int = 0
    dtype: str = "float32"
    skewed: bool = False
    validation: bool = False

    def __post_init__(self) -> None:
        for name in ("batch", "hidden"):
            whole_number(getattr(self, name), f"Digits: {name}", 1)

    @cached_property
    def network(self) -> Perceptron:
        return Perceptron(PIXELS, self.hidden, CLASSES)

    @property
    def pictures(self) -> Pictures:
        return pictures(self.dtype, self.validation)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return self.network.shapes

    def initial(self) -> np.ndarray:
        _ = self.pictures  # loaded now, before any time is measured
        return self.network.initial(self.seed, self.dtype)

    def gradient(self, weights: np.ndarray, part: int, parts: int, step: int) -> LossAndGradient:
        shown, answers, hidden, towards = self._shown(weights, part, parts, step)
        loss = surprise(towards, answers)
        # The gradient of the scores: (softmax - right answer) / samples.
        towards[np.arange(len(answers)), answers] -= 1
        towards /= len(answers)
        return loss, self.network.backward(weights, shown, hidden, towards)

    def curvature(
        self, weights: np.ndarray, part: int, parts: int, step: int
    ) -> tuple[float, list[Factors]]:
        shown, answers, hidden, likely = self._shown(weights, part, parts, step)
        lots = np.random.default_rng([self.seed, step, part]).random((len(answers), 1))
        drawn = (likely.cumsum(axis=1) > lots * likely.sum(axis=1, keepdims=True)).argmax(axis=1)
        classes = np.eye(CLASSES, dtype=likely.dtype)
        towards = (likely - classes[drawn], likely - classes[answers])
        return surprise(likely, answers), self.network.curvature(weights, shown, hidden, *towards)

    def _shown(self, weights: np.ndarray, *asked: int) -> tuple[np.ndarray, ...]:
        """Pictures, answers, hidden units and probabilities of this share of the minibatch."""
        data, chosen = self.pictures, self.places(*asked)
        hidden, scores = self.network.forward(weights, data.learnt[chosen])
        return data.learnt[chosen], data.answers[chosen], hidden, softmax(scores)

    def places(self, part: int, parts: int, step: int) -> np.ndarray:
        answers = self.pictures.answers
        if self.skewed:
            return share_of_a_kind(answers, self.batch, part, parts, step, self.seed)
        return share(len(answers), self.batch, part, parts, step, self.seed)

    def loss(self, weights: np.ndarray) -> float:
        scores = self.network.forward(weights, self.pictures.held_out)[1]
        return surprise(softmax(scores), self.pictures.held_out_answers)

    def accuracy(self, weights: np.ndarray) -> float:
        scores = self.network.forward(weights, self.pictures.held_out)[1]
        return float(np.mean(scores.argmax(axis=1) == self.pictures.held_out_answers))


def surprise(likely: np.ndarray, answers: np.ndarray) -> float:
    """The mean of -log of what was thought of the right answers."""
    right = likely[np.arange(len(answers)), answers]
    return float(-np.log(np.maximum(right, np.finfo(likely.dtype).tiny)).mean())


@cache
def pictures(dtype: str = "float32", validation: bool = False) -> Pictures:
    """All pictures, as points of mean 0 and variance 1 over those to learn from. They are scaled
    alike with `validation` and without, so that weights fit both."""
    images, answers = digits_table()
    first = _every_fifth_apart(images, answers)
    images = ((images - first.learnt.mean()) / first.learnt.std()).astype(dtype)
    parts = _every_fifth_apart(images, answers)
    if validation:
        parts = _every_fifth_apart(parts.learnt, parts.answers)
    for array in parts:
        array.setflags(write=False)  # all ranks that are simulated share them
    return parts


def _every_fifth_apart(images: np.ndarray, answers: np.ndarray) -> Pictures:
    held_out = np.arange(len(images)) % EVERY == 0
    return Pictures(images[~held_out], answers[~held_out], images[held_out], answers[held_out])
