"""AlexNet, small: five convolutions, three poolings, three wide fully connected layers.

In the original the convolutions hold 4% of the parameters and do 92% of the work: Krizhevsky, "One
weird trick for parallelizing convolutional neural networks", 2014. The network as published is
`ddl_measure.zoo.alexnet`; without dropout training can be repeated to the bit.
"""

from torch import nn

from ddl_teach.networks.models.seeds import seeded_network


def alexnet(
    maps: tuple[int, int, int, int, int] = (8, 16, 24, 24, 16), width: int = 256, seed: int = 0
) -> nn.Sequential:
    """Images of (1, 8, 8) to scores of ten classes."""
    layers = {
        "convolution1": nn.Conv2d(1, maps[0], 5, padding=2),
        "relu1": nn.ReLU(),
        "pool1": nn.MaxPool2d(2),
        "convolution2": nn.Conv2d(maps[0], maps[1], 5, padding=2),
        "relu2": nn.ReLU(),
        "pool2": nn.MaxPool2d(2),
        "convolution3": nn.Conv2d(maps[1], maps[2], 3, padding=1),
        "relu3": nn.ReLU(),
        "convolution4": nn.Conv2d(maps[2], maps[3], 3, padding=1),
        "relu4": nn.ReLU(),
        "convolution5": nn.Conv2d(maps[3], maps[4], 3, padding=1),
        "relu5": nn.ReLU(),
        "pool3": nn.MaxPool2d(2),
        "flatten": nn.Flatten(),
        "linear1": nn.Linear(maps[4], width),
        "relu6": nn.ReLU(),
        "linear2": nn.Linear(width, width),
        "relu7": nn.ReLU(),
        "linear3": nn.Linear(width, 10),
    }
    return seeded_network(layers, seed)
