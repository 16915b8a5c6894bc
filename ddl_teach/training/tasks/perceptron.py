"""A perceptron of two layers over one flat vector of weights, in NumPy.

    hidden = max(0, x W1 + b1);    scores = hidden W2 + b2

The loss is the caller's: it says what it wants of the scores, and `backward` what that asks of the
weights. One step of n samples takes about 6 n hidden (inputs + outputs) operations.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ddl_teach.training.tasks.task import Factors, factors, offsets


@dataclass(frozen=True)
class Perceptron:
    """How many numbers go in, are hidden, and come out."""

    inputs: int
    hidden: int
    outputs: int

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        first, second = (self.inputs, self.hidden), (self.hidden, self.outputs)
        return first, (self.hidden,), second, (self.outputs,)

    @cached_property
    def layers(self) -> tuple[int, ...]:
        return offsets(self.shapes)

    def initial(self, seed: int, dtype: str = "float64") -> np.ndarray:
        """Normal numbers, of a size that keeps signals alive (He et al., 2015)."""
        random = np.random.default_rng(seed)
        scales = (2 / self.inputs) ** 0.5, 0.0, (1 / self.hidden) ** 0.5, 0.0
        pairs = zip(self.shapes, scales, strict=True)
        drawn = [random.normal(0, 1, np.prod(shape)) * scale for shape, scale in pairs]
        return np.concatenate(drawn).astype(dtype)

    def arrays(self, vector: np.ndarray) -> list[np.ndarray]:
        """W1, b1, W2 and b2 as views of the vector."""
        parts = np.split(vector, self.layers[1:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def forward(self, weights: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the hidden units say of each row of `x`, and its scores."""
        first, bias1, second, bias2 = self.arrays(weights)
        hidden = np.maximum(x @ first + bias1, 0)
        return hidden, hidden @ second + bias2

    def backward(
        self, weights: np.ndarray, x: np.ndarray, hidden: np.ndarray, towards: np.ndarray
    ) -> np.ndarray:
        """The gradient by the weights, a new vector; `towards` is that by the scores."""
        _, _, second, _ = self.arrays(weights)
        gradient = np.empty_like(weights)
        of_first, of_bias1, of_second, of_bias2 = self.arrays(gradient)
        np.matmul(hidden.T, towards, out=of_second)
        towards.sum(axis=0, out=of_bias2)
        back = (towards @ second.T) * (hidden > 0)
        np.matmul(x.T, back, out=of_first)
        back.sum(axis=0, out=of_bias1)
        return gradient

    def curvature(
        self, weights: np.ndarray, x: np.ndarray, hidden: np.ndarray, drawn: np.ndarray,
        towards: np.ndarray,
    ) -> list[Factors]:  # fmt: skip
        """What K-FAC needs of both layers; a bias is the weight of an input of 1. `drawn` and
        `towards` are the loss of each sample by its scores, for answers that were drawn and for
        the true ones."""
        _, _, second, _ = self.arrays(weights)
        ones, alive = np.ones((len(x), 1), x.dtype), hidden > 0
        back = [(each @ second.T) * alive for each in (drawn, towards)]
        first = factors(np.hstack([x, ones]), *back)
        return [first, factors(np.hstack([hidden, ones]), drawn, towards)]


def softmax(scores: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Scores of each row, or of one, as probabilities; more even if the temperature is high."""
    if temperature != 1.0:
        scores = scores / temperature
    likely: np.ndarray = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=-1, keepdims=True))
