"""A small network with a mixture of experts in its middle."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.models.seeds import seed_weights


def mixture_network(
    inputs: int = 64,
    width: int = 16,
    hidden: int = 32,
    experts: int = 8,
    classes: int = 10,
    chosen: int = 2,
    factor: float = 1.25,
    seed: int = 0,
) -> nn.Sequential:
    """`enter`, `mixture`, `head`: rows of `inputs` numbers to scores."""
    network = nn.Sequential(
        OrderedDict(
            enter=nn.Linear(inputs, width),
            mixture=MixtureOfExperts(width, hidden, experts, chosen, factor),
            head=nn.Linear(width, classes),
        )
    )
    seed_weights(network, seed)
    return network
