"""Part of a vector of weights, and where its optimizer states are kept: resident, beside it.

`Resident` holds the states where the weights are; `offload.Offloaded` on the host: every way of
sharding works with either. Of weights in half precision a master copy in single precision is one
more state. Micikevicius et al., "Mixed precision training", 2018.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from ddl_runtime.core.arrays import Array

HALVES = (torch.float16, torch.bfloat16)


class Rule(Protocol):
    """What a keeper needs of an update rule: those of `training.optimizers` are some."""

    @property
    def states(self) -> int:
        """How many vectors like the weights it keeps, all zeros at first."""

    def __call__(
        self, weights: Array, gradient: Array, states: Sequence[Array], step: int
    ) -> None:
        """Change `weights` and `states`; steps are counted from 1."""


class Keeper(Protocol):
    """Updates one vector of weights, in place; `states` are what it keeps on the device."""

    def step(self, gradient: Tensor) -> None: ...
    def states(self) -> Sequence[Tensor]: ...


Keep = Callable[[Tensor], Keeper]
"""Makes the keeper of these weights."""


class Resident:
    """Master copy and states stay where the weights are."""

    def __init__(self, weights: Tensor, update: Rule) -> None:
        self._weights, self._update, self._steps = weights, update, 0
        self._master = master_copy(weights)
        self._states = [torch.zeros_like(self._master) for _ in range(update.states)]

    def step(self, gradient: Tensor) -> None:
        self._steps += 1
        precise = gradient.to(self._master.dtype)
        self._update(self._master, precise, self._states, self._steps)
        if self._master is not self._weights:
            self._weights.copy_(self._master)

    def states(self) -> Sequence[Tensor]:
        copies = [] if self._master is self._weights else [self._master]
        return [*copies, *self._states]


def resident(update: Rule) -> Keep:
    """Makes keepers that hold master copy and states where the weights are."""
    return partial(Resident, update=update)


def master_copy(weights: Tensor) -> Tensor:
    """Half-precision weights in single precision; others are their own master."""
    return weights.float() if weights.dtype in HALVES else weights
