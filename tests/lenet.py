"""LeNet, small: two convolutions that halve the picture, then three fully connected layers.

The convolutions do most of the work with few weights, the fully connected layers hold most of the
weights and do little work: the reason why no single way of splitting suits both ends. LeCun,
Bottou, Bengio and Haffner, "Gradient-based learning applied to document recognition", 1998; the
network as published, with its sparse connections, is `measure.zoo.lenet5`.
"""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from ddl_teach.networks.models.seeds import seed_weights


def lenet(
    maps: tuple[int, int] = (6, 16),
    widths: tuple[int, int] = (120, 84),
    image: tuple[int, int, int] = (1, 8, 8),
    classes: int = 10,
    seed: int = 0,
) -> nn.Sequential:
    """Images of (channels, height, width) to scores; height and width are divisible by four."""
    channels, height, width = image
    features = maps[1] * (height // 4) * (width // 4)
    model = nn.Sequential(
        OrderedDict(
            convolution1=nn.Conv2d(channels, maps[0], 5, padding=2),
            tanh1=nn.Tanh(),
            pool1=nn.AvgPool2d(2),
            convolution2=nn.Conv2d(maps[0], maps[1], 5, padding=2),
            tanh2=nn.Tanh(),
            pool2=nn.AvgPool2d(2),
            flatten=nn.Flatten(),
            linear1=nn.Linear(features, widths[0]),
            tanh3=nn.Tanh(),
            linear2=nn.Linear(widths[0], widths[1]),
            tanh4=nn.Tanh(),
            linear3=nn.Linear(widths[1], classes),
        )
    )
    seed_weights(model, seed)
    return model
