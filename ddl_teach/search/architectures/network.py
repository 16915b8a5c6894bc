"""From genotypes to networks: a convolution, two equal cells, a classifier.

    1 x 8 x 8 -> stem -> cell -> halved to 4 x 4 -> cell -> head: means over parts -> ten scores

A network holds weights for one genotype's own operations (`standing_alone`), or for all of them
(`shared`), of which each call uses one genotype's. Both begin with the same numbers under the same
names. Each cell's result is normalised over maps and positions of one example (a group
normalisation with one group): all that is trained is one flat vector.
What to look at: bytes and work are in different places. The head for sixteenths has 1,290 weights
that each do one multiplication; a 3 x 3 convolution has 584, which do 64 and 16.
"""

from collections.abc import Mapping

import torch
from torch import nn

from ddl_teach.networks.models.seeds import seed_weights
from ddl_teach.search.architectures.cells import EDGES, HEADS, OPERATIONS, Genotype, ends, living

SIDE, CLASSES = 8, 10
IMAGE = (1, SIDE, SIDE)
PARTS = {"mean": 1, "quarters": 2, "sixteenths": 4}  # along each side


class SearchCell(nn.Module):
    """Four places and what leads from one to another; `choices` names the operations it holds."""

    def __init__(self, channels: int, choices: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__()
        self.edges = nn.ModuleDict(
            {
                edge: nn.ModuleDict({name: _operation(name, channels) for name in names})
                for edge, names in choices.items()
            }
        )
        self.norm = nn.GroupNorm(1, channels)

    def forward(self, x: torch.Tensor, genotype: Genotype) -> torch.Tensor:
        """Place 3; zeros where no way leads there."""
        places = {0: [x]}
        for edge in living(genotype):
            start, end = ends(edge)
            operation = self.edges.get_submodule(f"{edge}.{genotype[edge]}")
            places.setdefault(end, []).append(operation(_mean(places[start])))
        return self.norm(_mean(places[3])) if 3 in places else torch.zeros_like(x)


class CellNetwork(nn.Module):
    """Pictures of 1 x 8 x 8 to ten scores, by the genotype that is `chosen`."""

    def __init__(
        self,
        choices: Mapping[str, tuple[str, ...]],
        heads: tuple[str, ...],
        chosen: Genotype | None,
        channels: int,
        seed: int,
    ) -> None:
        super().__init__()
        self.chosen = chosen
        self.stem = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.ReLU())
        self.cells = nn.ModuleList(SearchCell(channels, choices) for _ in range(2))
        self.pool = nn.AvgPool2d(2)
        self.heads = nn.ModuleDict({name: _head(name, channels) for name in heads})
        seed_weights(self, seed)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of (batch, 10)."""
        if self.chosen is None:
            raise ValueError("this network is shared: say first which genotype is `chosen`")
        x = self.stem(x)
        first, second = self.cells
        x = second(self.pool(first(x, self.chosen)), self.chosen)
        return torch.as_tensor(self.heads[self.chosen["head"]](x))


def standing_alone(genotype: Genotype, channels: int = 8, seed: int = 0) -> CellNetwork:
    """The network of one genotype, with the weights of its living edges and its head alone."""
    own = {edge: (genotype[edge],) for edge in living(genotype)}
    return CellNetwork(own, (genotype["head"],), genotype, channels, seed)


def shared(channels: int = 8, seed: int = 0) -> CellNetwork:
    """The network that holds all genotypes; set `chosen` before each call."""
    everything = tuple(name for name in OPERATIONS if name != "none")
    return CellNetwork(dict.fromkeys(EDGES, everything), HEADS, None, channels, seed)


def _operation(name: str, channels: int) -> nn.Module:
    if name == "same":
        return nn.Identity()
    if name == "mean3":
        return nn.AvgPool2d(3, stride=1, padding=1)
    width = {"conv1": 1, "conv3": 3}[name]
    convolution = nn.Conv2d(channels, channels, width, padding=width // 2)
    return nn.Sequential(convolution, nn.ReLU())


def _head(name: str, channels: int) -> nn.Module:
    parts = PARTS[name]
    size = SIDE // 2 // parts
    summed = nn.AvgPool2d(size) if size > 1 else nn.Identity()
    return nn.Sequential(summed, nn.Flatten(), nn.Linear(channels * parts**2, CLASSES))


def _mean(arrived: list[torch.Tensor]) -> torch.Tensor:
    return sum(arrived[1:], arrived[0]) / len(arrived) if len(arrived) > 1 else arrived[0]
