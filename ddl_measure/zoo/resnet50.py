"""ResNet-50: each block only adds a correction to what it was given, so that depth does no harm.

A block squeezes 4m maps into m by a 1 x 1 convolution. Then it looks around with 3 x 3, and widens
again by 1 x 1. Where a stage halves the image, one convolution of its first block has stride 2: in
the paper the first, today mostly the 3 x 3 one ("version 1.5"), which costs 6% more operations.

He, Zhang, Ren and Sun, "Deep residual learning for image recognition", CVPR 2016, table 1. What to
look at: with three times as many layers, a fifth of VGG-16's parameters and a quarter of its work.
"""

from typing import Literal

import torch
from torch import nn

IMAGE = (3, 224, 224)
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # maps, blocks, stride
Stride = Literal["3x3", "1x1"]


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3, 1 x 1, each followed by batch normalisation; the input is added at the end."""

    def __init__(self, maps_in: int, maps: int, stride: int, strided: Stride) -> None:
        super().__init__()
        first, second = (1, stride) if strided == "3x3" else (stride, 1)
        self.residual = nn.Sequential(
            nn.Conv2d(maps_in, maps, 1, first, bias=False), nn.BatchNorm2d(maps), nn.ReLU(),
            nn.Conv2d(maps, maps, 3, second, 1, bias=False), nn.BatchNorm2d(maps), nn.ReLU(),
            nn.Conv2d(maps, 4 * maps, 1, bias=False), nn.BatchNorm2d(4 * maps),
        )  # fmt: skip
        self.shortcut = nn.Sequential()
        if maps_in != 4 * maps:
            self.shortcut.append(nn.Conv2d(maps_in, 4 * maps, 1, stride, bias=False))
            self.shortcut.append(nn.BatchNorm2d(4 * maps))
        self.activation = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The input, projected where its shape changes, plus the correction."""
        return self.activation(self.residual(x) + self.shortcut(x))


class ResNet50(nn.Sequential):
    """Images of 3 x 224 x 224 to 1000 classes; `strided` convolutions halve them."""

    def __init__(self, strided: Stride = "3x3") -> None:
        if strided not in ("3x3", "1x1"):
            raise ValueError(f"strided={strided!r}: the convolution with stride 2 is 3x3 or 1x1")
        stem = (nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU())
        super().__init__(*stem, nn.MaxPool2d(3, 2, padding=1))
        maps_in = 64
        for maps, blocks, stride in STAGES:
            for block in range(blocks):
                self.append(Bottleneck(maps_in, maps, stride if block == 0 else 1, strided))
                maps_in = 4 * maps
        self.append(nn.AdaptiveAvgPool2d(1)).append(nn.Flatten()).append(nn.Linear(maps_in, 1000))
