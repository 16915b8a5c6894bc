"""The handwritten digits and a perceptron of two layers, in NumPy: fast, and nothing hidden.

    hidden = max(0, x W1 + b1);    scores = hidden W2 + b2;    loss = -log softmax(scores)[answer]

The gradient is written out: no library computes behind it, and a step of a few samples takes tens
of microseconds, so that hundreds of simulated workers can train in seconds. Every fifth of the
1,797 pictures is held out. Alpaydin and Kaynak, "Optical recognition of handwritten digits", 1998.
What to look at: `skewed=True` sorts the pictures, and each worker sees a few digits only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np

from ddl_teach.networks.models.digits_table import digits_table
from ddl_teach.sgd.shares import share, share_of_a_kind
from ddl_teach.sgd.task import offsets

PIXELS, CLASSES = 64, 10
EVERY = 5  # of so many pictures one is held out


@dataclass(frozen=True)
class Digits:
    """`batch` samples for each worker and step; `hidden` units; numbers of `dtype`."""

    batch: int = 16
    hidden: int = 32
    seed: int = 0
    dtype: str = "float32"
    skewed: bool = False

    def __post_init__(self) -> None:
        if self.batch < 1 or self.hidden < 1:
            raise ValueError(
                f"Digits: batch={self.batch} and hidden={self.hidden} must be at least 1"
            )

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Two matrices, each with its bias."""
        return (PIXELS, self.hidden), (self.hidden,), (self.hidden, CLASSES), (CLASSES,)

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """Where each of them begins in the vector, and its size."""
        return offsets(self.shapes)

    def initial(self) -> np.ndarray:
        """Normal numbers, of a size that keeps signals alive (He et al., 2015)."""
        _pictures(self.dtype)  # loaded now, before anybody looks at a clock
        random = np.random.default_rng(self.seed)
        scales = (2 / PIXELS) ** 0.5, 0.0, (1 / self.hidden) ** 0.5, 0.0
        drawn = [
            random.normal(0, 1, np.prod(shape)) * scale
            for shape, scale in zip(self.shapes, scales, strict=True)
        ]
        return np.concatenate(drawn).astype(self.dtype)

    def gradient(
        self, weights: np.ndarray, part: int, parts: int, step: int
    ) -> tuple[float, np.ndarray]:
        """The mean loss over this share of the minibatch, and its gradient."""
        pictures, answers = self._share(part, parts, step)
        _, _, second, _ = self._arrays(weights)
        hidden, likely = self._forward(weights, pictures)
        loss = _surprise(likely, answers)

        gradient = np.empty_like(weights)
        of_first, of_bias1, of_second, of_bias2 = self._arrays(gradient)
        towards = likely  # the gradient of the scores: (softmax - right answer) / samples
        towards[np.arange(len(answers)), answers] -= 1
        towards /= len(answers)
        np.matmul(hidden.T, towards, out=of_second)
        towards.sum(axis=0, out=of_bias2)
        back = (towards @ second.T) * (hidden > 0)
        np.matmul(pictures.T, back, out=of_first)
        back.sum(axis=0, out=of_bias1)
        return loss, gradient

    def loss(self, weights: np.ndarray) -> float:
        """The mean loss over the pictures held out."""
        _, _, pictures, answers = _pictures(self.dtype)
        return _surprise(self._forward(weights, pictures)[1], answers)

    def accuracy(self, weights: np.ndarray) -> float:
        """The share of the pictures held out that is recognised."""
        _, _, pictures, answers = _pictures(self.dtype)
        return float(np.mean(self._forward(weights, pictures)[1].argmax(axis=1) == answers))

    def _arrays(self, vector: np.ndarray) -> list[np.ndarray]:
        return [
            vector[begin:end].reshape(shape)
            for (begin, end), shape in zip(pairwise(self.layers), self.shapes, strict=True)
        ]

    def _forward(self, weights: np.ndarray, pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, bias1, second, bias2 = self._arrays(weights)
        hidden = np.maximum(pictures @ first + bias1, 0)
        scores = hidden @ second + bias2
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, likely / likely.sum(axis=1, keepdims=True)

    def _share(self, part: int, parts: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        pictures, answers, _, _ = _pictures(self.dtype)
        if self.skewed:
            chosen = share_of_a_kind(answers, self.batch, part, parts, step, self.seed)
        else:
            chosen = share(len(answers), self.batch, part, parts, step, self.seed)
        return pictures[chosen], answers[chosen]


def _surprise(likely: np.ndarray, answers: np.ndarray) -> float:
    right = likely[np.arange(len(answers)), answers]
    return float(-np.log(np.maximum(right, np.finfo(likely.dtype).tiny)).mean())


@cache
def _pictures(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pictures and answers to learn from, and those held out: points of mean 0 and variance 1."""
    images, answers = digits_table()
    held_out = np.arange(len(images)) % EVERY == 0
    learnt = images[~held_out]
    images = ((images - learnt.mean()) / learnt.std()).astype(dtype)
    parts = images[~held_out], answers[~held_out], images[held_out], answers[held_out]
    for array in parts:
        array.setflags(write=False)  # all ranks that are simulated share them
    return parts
