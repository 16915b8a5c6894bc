"""Weights from a name: any way of splitting a network starts from the same numbers.

A weight's values depend on its qualified name, its full shape and a seed, and on nothing else. So
a rank that owns columns 3 to 5 of ``block1.layers.0.weight`` makes the full tensor and keeps its
slice. So it has exactly what the single process has there. He, Zhang, Ren and Sun, "Delving deep
into rectifiers", ICCV 2015, for the scale: a standard deviation of the order of 1/sqrt(inputs of a
unit) keeps signals alive through many layers.
"""

import zlib
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

BIAS_SCALE = 0.1  # not zero, so that a bias that is added twice shows at once


def seeded(name: str, shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    """The full weight of this qualified name, in float64. Of two and more dimensions: normal,
    standard deviation 1/sqrt(inputs of a unit). Of one: ones where the name ends in "weight" (a
    normalisation's scale), else small and random (a bias)."""
    if len(shape) < 2 and name.endswith("weight"):
        return torch.ones(shape, dtype=torch.float64)
    numbers = np.random.default_rng([seed, zlib.crc32(name.encode()), *shape])
    scale = BIAS_SCALE if len(shape) < 2 else np.prod(shape[1:]) ** -0.5
    return torch.from_numpy(numbers.normal(0.0, scale, shape))


def seeded_network(layers: Mapping[str, nn.Module], seed: int) -> nn.Sequential:
    """These layers one after another, under these names, with the weights that belong to them."""
    model = nn.Sequential(OrderedDict(layers))
    seed_weights(model, seed)
    return model


def seed_weights(model: nn.Module, seed: int = 0) -> None:
    """Give every parameter of the whole network what its qualified name says."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(seeded(name, tuple(parameter.shape), seed))
