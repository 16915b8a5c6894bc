"""VGG-16: nothing but 3 x 3 convolutions, twice as many maps whenever the image is halved.

Two 3 x 3 layers see what one 5 x 5 layer sees, with 18/25 of its weights; that is the whole idea.

Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition", ICLR
2015, configuration D. What to look at: one matrix, of the first fully connected layer, holds three
quarters of the parameters and does 0.7% of the work.
"""

from torch import nn

IMAGE = (3, 224, 224)
MAPS = (64, 64, "pool", 128, 128, "pool", 256, 256, 256, "pool",
        512, 512, 512, "pool", 512, 512, 512, "pool")  # fmt: skip


class VGG16(nn.Sequential):
    """Images of 3 x 224 x 224 to 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        maps = 3
        for wanted in MAPS:
            if wanted == "pool":
                self.append(nn.MaxPool2d(2))
            else:
                self.append(nn.Conv2d(maps, wanted, 3, padding=1)).append(nn.ReLU())
                maps = wanted
        self.append(nn.Flatten())
        self.append(nn.Linear(512 * 7 * 7, 4096)).append(nn.ReLU()).append(nn.Dropout(0.5))
        self.append(nn.Linear(4096, 4096)).append(nn.ReLU()).append(nn.Dropout(0.5))
        self.append(nn.Linear(4096, 1000))
