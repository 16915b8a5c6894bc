"""A small network with a mixture of experts in its middle, and the balance loss of one."""

from torch import nn

from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.models.seeds import seeded_network


def mixture_network(inputs=64, width=16, hidden=32, experts=8, classes=10, chosen=2, factor=1.25):
    """`enter`, `mixture`, `head`: rows of `inputs` numbers to scores."""
    layers = {
        "enter": nn.Linear(inputs, width),
        "mixture": MixtureOfExperts(width, hidden, experts, chosen, factor),
        "head": nn.Linear(width, classes),
    }
    return seeded_network(layers, 0)


def balance_loss(network):
    """Of its mixture, for the batch that went through last."""
    return network.mixture.routing.balance
