"""The types of what a training takes: batches, a loss over them, an optimizer of weights."""

from collections.abc import Callable, Iterable
from typing import Protocol

import torch
from torch import nn

Batch = tuple[torch.Tensor, torch.Tensor]  # inputs, and the right answers
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # of scores and right answers


class AnyOptimizer(Protocol):
    """What all of torch's optimizers are too."""

    def zero_grad(self) -> None: ...
    def step(self) -> None: ...


Optimizer = Callable[[Iterable[nn.Parameter]], AnyOptimizer]
