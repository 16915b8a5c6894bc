"""AlexNet: two columns that meet twice, because it did not fit on one GPU of 2012.

``AlexNet`` is the network of the paper: the kernels of conv2, conv4 and conv5 see only the half of
the maps that lives on their own GPU (``groups=2``). Its first two layers normalise each value by
its neighbours in other maps. ``OneColumn`` is what most libraries call AlexNet today, the narrower
variant without columns of Krizhevsky's second paper, as torchvision has it.

Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural
networks", NIPS 2012; Krizhevsky 2014. What to look at: the convolutions hold 4% of the parameters
and do 92% of the work.
"""

from torch import nn

IMAGE = (3, 224, 224)


def classifier() -> list[nn.Module]:
    """Three fully connected layers; dropout before the first two."""
    return [
        nn.Flatten(),
        nn.Dropout(0.5), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(),
        nn.Dropout(0.5), nn.Linear(4096, 4096), nn.ReLU(),
        nn.Linear(4096, 1000),
    ]  # fmt: skip


class AlexNet(nn.Sequential):
    """The network of 2012.

    The paper's images have 224 x 224 points. Its 55 x 55 outputs need padding by 2. Others take
    227 x 227 points without padding: the same number of operations.
    """

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 96, 11, stride=4, padding=2), nn.ReLU(),
            nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=2), nn.MaxPool2d(3, 2),
            nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(),
            nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=2), nn.MaxPool2d(3, 2),
            nn.Conv2d(256, 384, 3, padding=1), nn.ReLU(),
            nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU(),
            nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            *classifier(),
        )  # fmt: skip


class OneColumn(nn.Sequential):
    """The variant of 2014, as torchvision has it."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(),
            nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2),
            *classifier(),
        )  # fmt: skip
