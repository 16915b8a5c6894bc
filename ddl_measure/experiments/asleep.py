"""Layers that take time and no core: a stand-in for an accelerator.

While an accelerator computes, its rank's core is free. Behind every layer with weights stands one
that sleeps: forwards for one part of its time, backwards for two, as the products of a layer do.
What the network computes stays the same, and gradients become ready one after another, so messages
can hide beneath the sleep. On a machine with fewer cores than ranks the network between nodes
shows itself this way; figures measured so must be called that: computing was asleep.
Cost: so many seconds a sample, on any number of ranks at the same time.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

FORWARD = 1 / 3  # of the time


class _Sleep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, nap: Callable[[float], None]) -> torch.Tensor:
        ctx.nap = nap
        nap(FORWARD * len(x))
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        ctx.nap((1 - FORWARD) * len(gradient))
        return gradient, None


class Asleep(nn.Module):
    """The identity, which calls `nap(samples)` on the way there and on the way back."""

    def __init__(self, nap: Callable[[float], None]) -> None:
        super().__init__()
        self.nap = nap

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _Sleep.apply(x, self.nap)


def asleep(model: nn.Sequential, work: Callable[[float], None], seconds: float) -> nn.Sequential:
    """The same layers, and `seconds` a sample for all of them together.

    `work` passes the time: `comm.work`, which is on the timeline, or `time.sleep`.
    """
    heavy = [layer for layer in model if any(True for _ in layer.parameters())]
    layers: list[nn.Module] = []
    for layer in model:
        layers.append(layer)
        if layer in heavy:
            layers.append(Asleep(lambda samples: work(samples * seconds / len(heavy))))
    return nn.Sequential(*layers)
