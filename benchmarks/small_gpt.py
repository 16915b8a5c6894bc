"""A small GPT trained by any rule of `training.optimizers`, and at any width with or without muP.

What to look at: the same batches and first weights for all that are compared, and a loss that is
the mean of the last steps.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ddl_teach.networks.models.data import batches, characters
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.theory.mup import multipliers
from ddl_teach.training.optimizers.muon import Muon
from ddl_teach.training.optimizers.update import Update

BATCH, LENGTH, HEAD = 16, 16, 8  # texts in a batch, characters in a text, numbers in a head


def network(width: int = 32, seed: int = 0) -> nn.Sequential:
    """Two blocks, whose heads have the same size at every width."""
    return gpt(width=width, heads=width // HEAD, length=LENGTH, seed=seed)


def muon(model: nn.Sequential, rate: float, rest: Update) -> Muon:
    """Muon for the matrices of the blocks; the embeddings and the head take `rest`."""
    names, weights = zip(*model.named_parameters(), strict=True)
    kept = tuple(at for at, name in enumerate(names) if not name.startswith("block"))
    return Muon(tuple(tuple(weight.shape) for weight in weights), rate, rest=rest, kept=kept)


def by_rule(make: Callable[[nn.Sequential], Update], steps: int, seed: int = 0) -> list[float]:
    """The loss of each step."""
    model = network(seed=seed)
    rule = make(model)
    weights = parameters_to_vector(model.parameters()).detach().clone()
    states = [torch.zeros_like(weights) for _ in range(rule.states)]

    def update(step: int) -> None:
        slopes = [weight.grad for weight in model.parameters() if weight.grad is not None]
        rule(weights, parameters_to_vector(slopes), states, step)
        vector_to_parameters(weights, model.parameters())

    return _losses(model, update, steps, seed)


def by_width(width: int, rate: float, steps: int, seed: int = 0, base: int = 0) -> list[float]:
    """The loss of each step, by Adam: with muP from the width `base`, or without (0)."""
    model = network(width, seed)
    groups = parametrise(model, rate, width, base or width)
    optimizer = torch.optim.Adam(groups)
    return _losses(model, lambda step: optimizer.step(), steps, seed)


def kind(name: str, parameter: torch.Tensor) -> str:
    """What a parameter is to muP, by its name and shape."""
    if parameter.ndim < 2:
        return "vector"
    return {"embedding": "input", "head": "output"}.get(name.partition(".")[0], "hidden")


def parametrise(network: nn.Module, rate: float, width: int, base: int) -> list[dict[str, Any]]:
    """Scale the weights of a GPT as it begins, and return the groups for `torch.optim.Adam`."""
    groups = []
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            start, factor = multipliers(kind(name, parameter), width, base)
            parameter.mul_(start)
            groups.append({"params": [parameter], "lr": rate * factor})
    return groups


def _losses(
    model: nn.Sequential, update: Callable[[int], object], steps: int, seed: int
) -> list[float]:
    losses = []
    for step, (inputs, targets) in enumerate(batches(characters(LENGTH), BATCH, steps, seed), 1):
        model.zero_grad()
        loss = mean_loss(model(inputs), targets)
        loss.backward()  # type: ignore[no-untyped-call]
        update(step)
        losses.append(float(loss.detach()))
    return losses
