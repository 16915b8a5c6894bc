"""What a grid must know of a network: a few numbers for each layer.

All counts are per position of one sample (an image or a row has one position). For a transformer
block of width h on texts of T positions:

    weights             12 h^2 + 13 h
    work forward        24 h^2 + 4 T h     operations: matrix products, and scores against all keys
    sums over tensor    2 h forward, 2 h backward
    keys and values     2 h                what goes round along context
    kept for backward   4 h whole, 12 h split over tensor, and the result is h

Narayanan et al., 2021 (work); Korthikanti et al. 2022 (what is kept; here without dropout).
What to look at: weights and work per position grow with h^2, messages with h.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise


@dataclass(frozen=True)
class Layer:
    """A layer that a pipeline does not cut. A cut (units, weights of a unit) can be split over
    tensor."""

    name: str
    work: float  # operations forward
    output: int  # numbers that go on to the next layer
    whole: int = 0  # weights that every rank along tensor holds
    cuts: tuple[tuple[int, int], ...] = ()
    sums_forward: tuple[int, ...] = ()  # numbers in each all-reduce along tensor
    sums_backward: tuple[int, ...] = ()
    heads: int = 0
    head_width: int = 0
    kept: int = 0  # numbers kept for the backward pass on every rank along tensor
    kept_split: int = 0

    def weights(self, tensor: int = 1, rank: int = 0) -> int:
        """What a rank along tensor holds."""
        return self.whole + sum(part(units, tensor, rank) * each for units, each in self.cuts)

    def keys_and_values(self, tensor: int = 1, rank: int = 0) -> int:
        """Numbers of a position that other positions must see, for this rank's heads."""
        return 2 * part(self.heads, tensor, rank) * self.head_width


def part(units: int, ranks: int, rank: int) -> int:
    """The number of units of this rank, as `networks.shares` cuts them."""
    return units * (rank + 1) // ranks - units * rank // ranks


@dataclass(frozen=True)
class LayerStack:
    """Layers in a row, and the text that goes through them."""

    layers: tuple[Layer, ...]
    length: int = 1  # positions of a sample

    @property
    def weights(self) -> int:
        return sum(layer.weights() for layer in self.layers)

    @property
    def work(self) -> float:
        """Operations of one sample, forward."""
        return self.length * sum(layer.work for layer in self.layers)

    @cached_property
    def _divided(self) -> dict[int, list[tuple[Layer, ...]]]:
        return {}

    def stages(self, ranks: int) -> list[tuple[Layer, ...]]:
        """Neighbouring layers for each stage of a pipeline, see `stage_bounds`."""
        if ranks not in self._divided:  # a search asks the same again and again
            bounds = stage_bounds([layer.work for layer in self.layers], ranks)
            self._divided[ranks] = [self.layers[a:b] for a, b in pairwise(bounds)]
        return self._divided[ranks]


def transformer(
    *, blocks: int, width: int, heads: int, length: int, vocabulary: int
) -> LayerStack:
    """The layers of `networks.models.gpt`: embedding, blocks, norm, head (not tied)."""
    h, each = width, width // heads
    block = Layer(
        "block",
        work=24 * h * h + 4 * length * h,
        output=h,
        whole=6 * h,  # two norms, and the biases that are added after a sum
        cuts=((heads, 4 * h * each + 3 * each), (4 * h, 2 * h + 1)),
        sums_forward=(h, h),
        sums_backward=(h, h),
        heads=heads,
        head_width=each,
        kept=4 * h,
        kept_split=12 * h,
    )
    # Per position the loss sums three numbers: the largest score, and then two at once.
    return LayerStack((
        Layer("embedding", 0.0, h, length * h, ((vocabulary, h),), sums_forward=(h,)),
        *(block,) * blocks,
        Layer("norm", 0.0, h, 2 * h, kept=h),
        Layer("head", 2.0 * h * vocabulary, 0, 0, ((vocabulary, h),), (1, 2), (h,),
              kept=h, kept_split=vocabulary),
    ), length)  # fmt: skip


def perceptron(sizes: Sequence[int]) -> LayerStack:
    """The layers of `networks.models.mlp` in pairs, the first by columns, the second by rows; a
    last layer without a partner is whole on every rank."""
    layers = []
    for first in range(0, len(sizes) - 1, 2):
        inputs, *rest = sizes[first : first + 3]
        work = sum(2.0 * a * b for a, b in pairwise((inputs, *rest)))
        backward = (inputs,) if first else ()  # the gradient of the data is not needed
        if len(rest) == 1:
            layers.append(Layer("single", work, rest[0], (inputs + 1) * rest[0], kept=inputs))
        else:
            between, outputs = rest
            layers.append(Layer(
                "pair", work, outputs, outputs,
                cuts=((between, inputs + 1), (between, outputs)),
                sums_forward=(outputs,), sums_backward=backward,
                kept=inputs + outputs, kept_split=2 * between,
            ))  # fmt: skip
    return LayerStack(tuple(layers))


def stage_bounds(works: Sequence[float], stages: int) -> tuple[int, ...]:
    """Where to cut layers into stages so that the slowest stage has least to do.

    stages + 1 numbers: stage s has the layers bounds[s] to bounds[s + 1] - 1, at least one. Among
    equally good cuts the later stages get the light layers.

    >>> stage_bounds((0, 24, 24, 24, 24, 0, 5), 2)
    (0, 3, 7)
    """
    if not 1 <= stages <= len(works):
        raise ValueError(f"{len(works)} layers make at least 1 stage and at most {len(works)}, "
                         f"not {stages}")  # fmt: skip
    before = [0.0, *accumulate(works)]
    # best[n]: the least time of the slowest stage, and the cuts, for the first n layers.
    best: dict[int, tuple[float, tuple[int, ...]]]
    best = {n: (before[n], (0, n)) for n in range(1, len(works) + 1)}
    for stage in range(2, stages + 1):
        best = {
            n: min((max(best[m][0], before[n] - before[m]), (*best[m][1], n))
                   for m in range(stage - 1, n))
            for n in range(stage, len(works) + 1)
        }  # fmt: skip
    return best[len(works)][1]
