"""LeNet-5: the network of 1998 as its paper describes it, sparse connections and all.

Convolutions share weights, so that 340,908 connections need only 60,000 numbers. Three details
that copies of today leave out stand here: subsampling multiplies a sum of four by one trained
number and adds another; of the 16 x 6 pairs of maps only 60 are connected between S2 and C3; the
output measures the squared distance to ten fixed pictures of digits.

LeCun et al. 1998: section II.B and table I. What to look at: C5 and F6 hold 97% of the parameters,
C1 and C3 do four fifths of the work.
"""

import torch
from torch import nn
from torch.nn import functional

IMAGE = (1, 32, 32)
CONNECTED = (
    (6, tuple(tuple((first + step) % 6 for step in range(3)) for first in range(6))),
    (9, (*(tuple((first + step) % 6 for step in range(4)) for first in range(6)),
         (0, 1, 3, 4), (1, 2, 4, 5), (0, 2, 3, 5))),
    (1, (tuple(range(6)),)),
)  # fmt: skip
"""Which maps of S2 each map of C3 sees: six see three, nine see four, one sees all."""


class Squash(nn.Module):
    """f(a) = 1.7159 tanh(2a/3), which maps 1 to 1 and -1 to -1."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 1.7159 * torch.tanh(2 / 3 * x)


class Subsampling(nn.Module):
    """For each map: the sum of each 2 x 2 window times a trained number, plus another one."""

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.coefficient = nn.Parameter(torch.full((maps, 1, 1), 0.25))
        self.bias = nn.Parameter(torch.zeros(maps, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The maps at half the height and half the width."""
        sums = functional.avg_pool2d(x, 2, divisor_override=1)
        return sums * self.coefficient + self.bias


class SparseConvolution(nn.Module):
    """C3: sixteen 5 x 5 convolutions, each of its own choice of input maps."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Conv2d(maps * len(seen[0]), maps, 5, groups=maps) for maps, seen in CONNECTED
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The output maps; those that see equally many inputs are computed by one grouped
        convolution."""
        chosen = ([number for row in seen for number in row] for _, seen in CONNECTED)
        pairs = zip(self.parts, chosen, strict=True)
        return torch.cat([part(x[:, numbers]) for part, numbers in pairs], dim=1)


class Distance(nn.Module):
    """Squared distance to a fixed picture of 12 x 7 dots for each class; nothing is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pictures", torch.stack([seven_segments(d) for d in range(10)]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The squared distance to each class's picture: the smaller, the more alike."""
        return (x[:, None, :] - self.pictures).square().sum(dim=2)


class LeNet5(nn.Sequential):
    """Images of 1 x 32 x 32 to ten distances."""

    def __init__(self) -> None:
        super().__init__()
        layers = {
            "c1": nn.Conv2d(1, 6, 5), "c1_squash": Squash(),
            "s2": Subsampling(6), "s2_squash": Squash(),
            "c3": SparseConvolution(), "c3_squash": Squash(),
            "s4": Subsampling(16), "s4_squash": Squash(),
            "c5": nn.Conv2d(16, 120, 5), "c5_squash": Squash(), "flatten": nn.Flatten(),
            "f6": nn.Linear(120, 84), "f6_squash": Squash(),
            "output": Distance(),
        }  # fmt: skip
        for name, layer in layers.items():
            self.add_module(name, layer)


def seven_segments(digit: int) -> torch.Tensor:
    """A digit in 12 rows of 7 dots, +1 where there is ink and -1 elsewhere.

    The paper drew its pictures by hand and does not list them; these are a pocket calculator's.
    """
    top, middle, bottom, left, right = 0, 5, 10, slice(0, 2), slice(5, 7)
    places = {
        "a": (slice(top, top + 2), slice(0, 7)), "b": (slice(top, 6), right),
        "c": (slice(6, 12), right), "d": (slice(bottom, 12), slice(0, 7)),
        "e": (slice(6, 12), left), "f": (slice(top, 6), left),
        "g": (slice(middle, middle + 2), slice(0, 7)),
    }  # fmt: skip
    lit = "abcdef bc abdeg abcdg bcfg acdfg acdefg abc abcdefg abcdfg".split()[digit]
    picture = torch.full((12, 7), -1.0)
    for segment in lit:
        picture[places[segment]] = 1.0
    return picture.flatten()
