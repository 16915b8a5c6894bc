"""ResNet, small: each block adds a correction to what it was given.

Two 3 x 3 convolutions a block; where the maps double, the picture halves. Batch normalisation uses
statistics of the whole batch: with parts of it the network is another one. He, Zhang, Ren and Sun,
"Deep residual learning for image recognition", CVPR 2016, section 4.2.
"""

from collections.abc import Callable

import torch
from torch import nn

from ddl_teach.networks.models.seeds import seeded_network

Normalisation = Callable[[int], nn.Module]


class Residual(nn.Module):
    """Two 3 x 3 convolutions; the input, projected where its shape changes, is added."""

    def __init__(self, maps_in: int, maps: int, normalisation: Normalisation) -> None:
        super().__init__()
        stride = 1 if maps == maps_in else 2
        self.correction = nn.Sequential(
            nn.Conv2d(maps_in, maps, 3, stride, padding=1, bias=False), normalisation(maps),
            nn.ReLU(), nn.Conv2d(maps, maps, 3, padding=1, bias=False), normalisation(maps),
        )  # fmt: skip
        self.shortcut = nn.Sequential()
        if maps != maps_in:
            self.shortcut.append(nn.Conv2d(maps_in, maps, 1, stride, bias=False))
            self.shortcut.append(normalisation(maps))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.correction(x) + self.shortcut(x))


def resnet(
    maps: tuple[int, ...] = (8, 16),
    blocks: int = 1,
    normalisation: Normalisation = nn.BatchNorm2d,
    seed: int = 0,
) -> nn.Sequential:
    """`blocks` residual blocks for each entry of `maps`, between a stem and ten classes.
    `normalisation(channels)` makes a layer: batch normalisation, or for instance ``lambda
    channels: nn.GroupNorm(1, channels)``, which does not mix the samples of a batch."""
    layers: dict[str, nn.Module] = {
        "stem": nn.Conv2d(1, maps[0], 3, padding=1, bias=False),
        "stem_norm": normalisation(maps[0]),
        "stem_relu": nn.ReLU(),
    }
    maps_in = maps[0]
    for width in maps:
        for _ in range(blocks):
            layers[f"block{len(layers) - 2}"] = Residual(maps_in, width, normalisation)
            maps_in = width
    layers["pool"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["linear"] = nn.Linear(maps_in, 10)
    return seeded_network(layers, seed)
