"""A multi-layer perceptron: matrix products with a bend between them.

One layer of `inputs` x `outputs` takes 2 batch inputs outputs operations forward and twice that
backward, and holds inputs outputs weights: few operations a weight, so averaging is hard to hide.
Rumelhart, Hinton and Williams, "Learning representations by back-propagating errors", Nature 323,
1986.
"""

from itertools import pairwise

from torch import nn

from ddl_teach.networks.models.seeds import seeded_network


def mlp(sizes: tuple[int, ...] = (64, 96, 96, 10), seed: int = 0) -> nn.Sequential:
    """`linear1`, `relu1`, `linear2`, ...: rows of sizes[0] numbers to scores of sizes[-1]."""
    layers: dict[str, nn.Module] = {}
    for number, (inputs, outputs) in enumerate(pairwise(sizes), start=1):
        layers[f"linear{number}"] = nn.Linear(inputs, outputs)
        layers[f"relu{number}"] = nn.ReLU()
    layers.popitem()  # the last scores may be negative
    return seeded_network(layers, seed)
