"""The loss of every network here, and the types of what a training takes.

The loss is the mean over all answers of -log softmax(scores)[answer]. A mean, not a sum: that is
why averages of parts are the average of the whole only where the parts are equally large.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import torch
from torch import nn
from torch.nn import functional

Batch = tuple[torch.Tensor, torch.Tensor]  # inputs, and the right answers
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # of scores and right answers


class AnyOptimizer(Protocol):
    """What all of torch's optimizers are too."""

    def zero_grad(self) -> None: ...
    def step(self) -> None: ...


Optimizer = Callable[[Iterable[nn.Parameter]], AnyOptimizer]


def beside(model: nn.Module, batch: Batch) -> Batch:
    """The batch on the device where the model's weights are."""
    where = next(model.parameters()).device
    return batch[0].to(where), batch[1].to(where)


def mean_loss(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of scores (..., classes) for targets (...): images and texts alike."""
    return functional.cross_entropy(scores.flatten(0, -2), targets.flatten())
