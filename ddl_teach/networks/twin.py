"""The twin: one process that trains the whole network on the whole batch.

Whatever is split over ranks must end where the twin ends: the same parameters under the same
names, up to rounding (sums in another order): in float64 1e-10 after ten steps. A comparison
proves something only if doing nothing would fail it: so first show that the ranks without any
communication end somewhere else.
What to look at: the loss can fall nicely while the parameters are not the twin's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.loss import Batch, Loss, Optimizer, beside, mean_loss


@dataclass(frozen=True)
class Trained:
    """Parameters and buffers after training, by qualified names, and the loss before each step."""

    parameters: dict[str, torch.Tensor]
    buffers: dict[str, torch.Tensor]
    losses: list[float]

    @classmethod
    def of(cls, networks: Sequence[nn.Module], losses: list[float]) -> Trained:
        parameters = copies(pair for network in networks for pair in network.named_parameters())
        buffers = copies(pair for network in networks for pair in network.named_buffers())
        return cls(parameters, buffers, losses)


def copies(named: Iterable[tuple[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """What these tensors hold now, in host memory."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in named}


def train(
    model: nn.Module,
    batches: Iterable[Batch],
    *,
    loss: Loss = mean_loss,
    optimizer: Optimizer = Descent,
) -> Trained:
    """One step a batch, in place. `optimizer(parameters)` makes the one to use."""
    steps = optimizer(model.parameters())
    losses = []
    for batch in batches:
        inputs, targets = beside(model, batch)
        steps.zero_grad()
        error = loss(model(inputs), targets)
        error.backward()
        steps.step()
        losses.append(error.item())
    return Trained.of([model], losses)


def largest_difference(
    mine: Mapping[str, torch.Tensor], twins: Mapping[str, torch.Tensor]
) -> float:
    """The largest |mine - twin's| of all entries; infinite where something is no number."""
    if mine.keys() != twins.keys():
        missing, unknown = sorted(twins.keys() - mine.keys()), sorted(mine.keys() - twins.keys())
        raise ValueError(f"parameters unlike the twin's: missing {missing}, unknown {unknown}")
    largest = 0.0
    for name, tensor in twins.items():
        if mine[name].shape != tensor.shape:
            shapes = f"the shape {tuple(mine[name].shape)}, the twin's {tuple(tensor.shape)}"
            raise ValueError(f"{name} has {shapes}: is it a rank's part of it?")
        apart = mine[name].cpu() - tensor.cpu()  # each may be where it was trained
        difference = apart.abs().max().item() if tensor.numel() else 0.0
        largest = max(largest, math.inf if math.isnan(difference) else difference)
    return largest
