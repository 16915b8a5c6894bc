"""Level 2: an update rule walks beside another library's of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ddl_measure.levels.torch_parts import torch_rule
from ddl_measure.levels.training_level import divergence, rule_of

STEPS = 12


def beside(
    name: str, ours: dict[str, float], theirs: dict[str, Any]
) -> Callable[[Callable[..., Any]], float]:
    """An examination: with such settings, how far it gets away from torch's optimizer `name`."""

    def examine(candidate: Callable[..., Any]) -> float:
        rule = candidate(**ours)
        random = np.random.default_rng(0)
        curvatures, noise = random.uniform(0.1, 5, 6), random.normal(size=(STEPS, 6))
        reference = torch_rule(getattr(torch.optim, name), **theirs)
        apart = divergence(
            rule_of(rule, rule.states), reference,
            lambda weights, step: curvatures * weights + noise[step],
            random.normal(0, 3, 6), STEPS,
        )  # fmt: skip
        return float(apart.max())

    return examine
