"""A task: what a worker can be asked, whatever is learnt.

All weights are one flat vector, and so are gradients: so a distribution can cut them anywhere and
a compressor pack them. Worker `part` of `parts` always gets the same share of minibatch `step`;
all shares are equally large, or the mean of their gradients would not be the gradient of all.
"""

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

LossAndGradient = tuple[float, np.ndarray]
Moved = TypeVar("Moved")


@runtime_checkable
class Trainable(Protocol):
    """What a worker needs of a task."""

    def initial(self) -> np.ndarray:
        """The weights to begin with, alike on every rank: a new vector each time."""

    def gradient(self, weights: np.ndarray, part: int, parts: int, step: int) -> LossAndGradient:
        """The mean loss over this share of the minibatch, and its gradient: a new vector."""


@runtime_checkable
class Movable(Protocol):
    """What can compute on a device; its vectors stay in the host's memory."""

    def on(self, device: str) -> Any:
        """The same, computed there."""


def placed(each: Moved, device: str) -> Moved:
    """The same, computed on the device if it can be."""
    return each.on(device) if isinstance(each, Movable) else each


class Task(Trainable, Protocol):
    """A loss over weights, in shares, and how good weights are."""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays of weights."""

    @property
    def layers(self) -> tuple[int, ...]:
        """The place where each layer begins in the vector, and at last the vector's size."""
        return offsets(self.shapes)

    def loss(self, weights: np.ndarray) -> float:
        """The mean loss over data held out."""

    def accuracy(self, weights: np.ndarray) -> float:
        """The share of the data held out that is answered rightly."""


def offsets(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Where arrays of these shapes begin in one vector, and at last its size."""
    return tuple(accumulate((math.prod(shape) for shape in shapes), initial=0))


@dataclass(frozen=True)
class Factors:
    """What K-FAC makes a layer's step of, as means over samples: two factors and the gradient."""

    inputs: np.ndarray  # A, of inputs x inputs
    derivatives: np.ndarray  # D, of outputs x outputs
    gradient: np.ndarray  # G, of outputs x inputs


def factors(inputs: np.ndarray, drawn: np.ndarray, derivatives: np.ndarray) -> Factors:
    """The factors of a layer from its inputs (samples, inputs), and from derivatives (samples,
    outputs) for drawn and for true answers. A layer with a bias has one input more, which is
    always 1."""
    products = inputs.T @ inputs, drawn.T @ drawn, derivatives.T @ inputs
    return Factors(*(product / len(inputs) for product in products))
