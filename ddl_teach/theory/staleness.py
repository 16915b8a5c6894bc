"""Staleness: how old a gradient may be before training with it blows up.

A gradient that was computed tau steps ago, on a parabola of this curvature, gives

    w[t+1] = w[t] - a w[t - tau],        a = rate * curvature.

Try w[t] = z^t: a = z^tau (1 - z). The recursion dies out if all tau + 1 roots z lie inside the
unit circle. On it, z = e^{i angle}, the right side has length 2 sin(angle / 2) and direction
(tau + 1/2) angle - pi / 2. That is 0 first at angle = pi / (2 tau + 1). So the largest step is

    a = 2 sin(pi / (2 (2 tau + 1)))      2, 1, 0.62, 0.45, ...   about pi / (2 tau) for large tau

and there the weights swing with a period of 2 (2 tau + 1) steps. The fastest step is where
the two largest roots meet, z = tau / (tau + 1) and a = z^tau / (tau + 1), about 1 / (e tau).
Levin and May, "A note on difference-delay equations", Theoretical Population Biology, 1976; for
gradients: Mitliagkas, Zhang, Hadjis and Re, "Asynchrony begets momentum", 2016.
What to look at: each doubling of the workers of an asynchronous run halves the step it can take.
"""

from collections.abc import Sequence

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.theory.inputs import count


def stable_rate(staleness: int, curvature: float = 1.0) -> float:
    """The rate at which gradients of this staleness neither grow nor die out."""
    delay = count("staleness", staleness, 0)
    pull = amount(curvature, "curvature", zero=False)  # where it is 0 nothing pulls back
    return float(2 * np.sin(np.pi / (2 * (2 * delay + 1)))) / pull


def growth(step: float, shares: Sequence[float]) -> float:
    """The factor by which a step multiplies the error in the long run: the largest root's size.

    `step` is rate * curvature; `shares[k]` is the share of gradients that are k steps old.
    """
    weights = np.asarray(shares, dtype=float)
    if weights.ndim != 1 or not len(weights) or not np.isclose(weights.sum(), 1):
        raise ValueError(
            "shares[k] is the share of gradients that are k steps old: one or more numbers that "
            f"add up to 1, not {shares!r}. Divide a histogram by its sum."
        )
    polynomial = np.concatenate([[1.0, -1.0], np.zeros(len(weights) - 1)])
    polynomial[1:] += amount(step, "step") * weights
    return float(np.abs(np.roots(polynomial)).max())


def stable_step(shares: Sequence[float]) -> float:
    """The rate * curvature up to which `growth` stays below one, where staleness varies."""
    low, high = 0.0, 2.0
    while growth(high, shares) < 1:  # scattered ages can allow more than fresh gradients do
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if growth(middle, shares) < 1 else (low, middle)
    return low


def delayed_descent(
    rate: float, curvature: float, staleness: int, steps: int, start: float = 1.0
) -> np.ndarray:
    """The weight before and after each step on a parabola; all were `start` before the first."""
    delay = count("staleness", staleness, 0)
    weights = np.full(delay + count("steps", steps, 0) + 1, float(start))
    for step in range(delay, delay + steps):
        weights[step + 1] = weights[step] - rate * curvature * weights[step - delay]
    return weights[delay:]
