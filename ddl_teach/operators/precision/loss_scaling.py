"""Loss scaling: multiply the loss, and the gradients come out as much larger; divide them later.

Gradients smaller than 2^-24, the smallest number of float16, become zero, while the large half of
its range stays unused. A factor of 2^16 on the loss shifts all of them up; in float32 they are
divided by it again, exactly. Too large a factor overflows to inf, and that can be seen: skip the
step and halve the factor; after `interval` good steps in a row, double it. Micikevicius et al.,
ICLR 2018; torch.amp.GradScaler does the same. A step:

    forward, loss * scale, backward   in float16; the loss itself in float32: 65,536 is infinite
    gradients / scale                 in float32, `unscale`
    update, scale = scale.after(True) of the float32 weights of `networks.memory.keeping`, which
                                      holds an update of less than 2^-11 of a weight, too; the
                                      network gets them rounded
    or scale = scale.after(False)     and no update, where a gradient has overflowed
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ddl_runtime.core.checks import amount, whole_number

LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class LossScale:
    """The factor of the loss, and what becomes of it."""

    scale: float = 65536.0
    growth: float = 2.0  # times the scale, after `interval` good steps in a row
    backoff: float = 0.5  # times the scale, after an overflow
    interval: int = 2000
    good_steps: int = 0  # in a row, since the scale last changed

    def __post_init__(self) -> None:
        for name in ("scale", "growth", "backoff"):
            amount(getattr(self, name), name, zero=False)
        whole_number(self.interval, "interval", 1)
        if self.growth < 1 or self.backoff > 1:
            factors = f"growth={self.growth} and backoff={self.backoff}"
            raise ValueError(f"{factors}: the first must be 1 or more, the second 1 or less")

    def after(self, finite: bool) -> LossScale:
        """The scale for the next step, after gradients that were all finite, or were not."""
        if not finite:
            return replace(self, scale=self.scale * self.backoff, good_steps=0)
        if self.good_steps + 1 < self.interval:
            return replace(self, good_steps=self.good_steps + 1)
        larger = self.scale * self.growth
        scale = larger if larger <= LARGEST_FLOAT32 else self.scale
        return replace(self, scale=scale, good_steps=0)


def static(scale: float) -> LossScale:
    """A scale that never changes; steps that overflow are skipped all the same."""
    return LossScale(scale, growth=1.0, backoff=1.0)


def unscale(gradients: Iterable[Tensor], scale: float) -> tuple[list[Tensor], bool]:
    """The gradients of the unscaled loss in float32, and whether all of them are finite."""
    wide = [gradient.to(torch.float32) / scale for gradient in gradients]
    return wide, all(bool(gradient.isfinite().all()) for gradient in wide)
