"""Where a training ended: copies of what its tensors hold, for comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Trained:
    """Where training ended, by qualified names, and the loss before each step."""

    parameters: dict[str, torch.Tensor]
    buffers: dict[str, torch.Tensor]
    losses: list[float]


def copies(named: Iterable[tuple[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """What these tensors hold now, in host memory."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in named}
