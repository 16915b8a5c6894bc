"""Learning rates: how large a step, for which batch, in which step.

    linear scaling        rate x batch / reference           Goyal et al. 2017
    square-root scaling   rate x sqrt(batch / reference)     Krizhevsky 2014
    warm-up               from `start` to `peak`, the same amount more in each step

A batch k times as large can do in one step what k small ones did, if they would have gone the same
way: hence k times the rate. If instead the variance of the update, rate^2 / batch, is to stay, the
rate grows with the square root only. Early in training the k steps would not have gone the same
way, and the large one leaps out of the valley: that is what the warm-up is for. Goyal et al. 2017;
Krizhevsky 2014. What to look at: neither rule goes on for ever (`theory.large_batches`).
"""

import math
from dataclasses import dataclass

from ddl_runtime.core.checks import amount, whole_number


def linear_scaling(rate: float, batch: int, reference: int) -> float:
    """The rate for `batch` samples where `rate` is right for `reference` of them.

    >>> linear_scaling(0.1, batch=8192, reference=256)
    3.2
    """
    whole_number(batch, "batch in samples", 1), whole_number(reference, "reference in samples", 1)
    return rate * batch / reference


def square_root_scaling(rate: float, batch: int, reference: int) -> float:
    """The rate that keeps the variance of an update when the batch grows from `reference`.

    >>> square_root_scaling(0.1, batch=1024, reference=256)
    0.2
    """
    return rate * math.sqrt(linear_scaling(1.0, batch, reference))


@dataclass(frozen=True)
class WarmUp:
    """A rate that rises from `start` in step 1 to `peak`, which it reaches after `steps` and
    keeps."""

    start: float
    peak: float
    steps: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            amount(value, f"WarmUp: {name}")

    def __call__(self, step: int) -> float:
        if step > self.steps:
            return self.peak
        return self.start + (self.peak - self.start) * (step - 1) / self.steps
