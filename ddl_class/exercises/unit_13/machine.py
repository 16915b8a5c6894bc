"""The training of unit 13's puzzle: a bowl with noise, and 64 ranks that roll down it together.

Gradients are noisy, but the mean over all that chance may do is exact. A bowl has curvature h_i
along axis i, and the noise of one sample the variance c_i. A step at rate r with a batch of B
changes the mean square distance e_i from the bottom:

    e_i  ->  (1 - r h_i)^2 e_i  +  r^2 c_i / B           loss = sum of h_i e_i / 2

Zhang, Li, Nado, Martens, Sachdeva, Dahl, Shallue and Grosse, "Which algorithmic choices matter at
which batch sizes? Insights from a noisy quadratic model", NeurIPS 2019. What to look at: noise and
signal. Their ratio grows while the loss falls.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

RANKS, TARGET = 64, 0.01  # and the mean loss to reach
SECONDS_A_STEP, SECONDS_A_SAMPLE = 4e-3, 1e-3  # of a rank: messages and the like, and computing
CURVATURES = np.geomspace(1.0, 0.02, 20)
NOISE = 30 * CURVATURES  # of one sample
FARTHEST = 100.0  # a loss from which no step comes back
MOST_STEPS = 1000


@dataclass(frozen=True)
class Rolled:
    """A step of the training: what came before it, and what it changed."""

    step: int  # counted from 1
    batch: int
    rate: float
    seconds: float  # since the beginning
    loss: float  # after the step


def seconds_of(batch: int) -> float:
    """One step of all ranks; the fullest rank decides."""
    return SECONDS_A_STEP + SECONDS_A_SAMPLE * math.ceil(batch / RANKS)


def rolls(choose: Callable[[int, float, float], tuple[int, float]]) -> Iterator[Rolled]:
    """Steps until the target, or until it is lost; `choose(step, noise, signal)` gives a batch and
    a rate."""
    squares, seconds, loss = np.ones(len(CURVATURES)), 0.0, math.inf
    for step in range(1, MOST_STEPS + 1):
        signal = float((CURVATURES**2 * squares).sum())
        batch, rate = choose(step, float(NOISE.sum()), signal)
        squares = (1 - rate * CURVATURES) ** 2 * squares + rate**2 * NOISE / batch
        loss = float((CURVATURES * squares).sum() / 2)
        seconds += seconds_of(batch)
        yield Rolled(step, batch, rate, seconds, loss)
        if not TARGET < loss < FARTHEST:
            return
