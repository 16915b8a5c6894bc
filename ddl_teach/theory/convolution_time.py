"""How long a convolution takes, from its counts and three rates of a processor.

    time = products / product rate + transforms / transform rate + bytes moved / bandwidth

The parts come one after another here; a processor may do some at once. Nothing is known of how
well a short product fills it, or of what stays in its caches. What to look at: FFT and im2col meet
where 2 r r = 4 + 5 log2(n) slower (1/N + 1/C + 1/K): each of the three sets of transforms is
shared, by K outputs, N images, C inputs; so channels and batch decide, and not the kernel alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ddl_teach.theory.convolution_cost import ConvolutionCost


@dataclass(frozen=True)
class Rates:
    """A processor in three numbers, each per second."""

    product: float  # operations of matrix products
    transform: float  # operations of transforms: products with a matrix as small as a tile
    bandwidth: float  # bytes written or read while data are laid out anew


def seconds(cost: ConvolutionCost, rates: Rates, itemsize: int = 4) -> float:
    """How long a pass takes if its parts come one after another, each at its own rate."""
    return sum(parts(cost, rates, itemsize).values())


def parts(cost: ConvolutionCost, rates: Rates, itemsize: int = 4) -> dict[str, float]:
    """The seconds of each part of a pass, by its name."""
    return {
        "products": cost.product.total / rates.product,
        "transforms": cost.transforms.total / rates.transform,
        "moving bytes": cost.moved * itemsize / rates.bandwidth,
    }


def meeting_kernel(
    batch: int, in_channels: int, out_channels: int, size: int, slower: float = 1.0
) -> float:
    """The kernel size r at which im2col and FFT take equally long, for images of `size` squared.

    2 r r on one side, 4 + 5 log2(size) slower (1/N + 1/C + 1/K) on the other, where an operation
    of a transform takes `slower` times as long as one of a product: each transform is shared.
    """
    shares = 1 / batch + 1 / in_channels + 1 / out_channels
    return math.sqrt(2 + 2.5 * slower * math.log2(size) * shares)


def first_below(costs: Sequence[float], others: Sequence[float]) -> int | None:
    """The position from which on `costs` stay below `others`, or None where they never do."""
    position = None
    for place, (one, other) in enumerate(zip(costs, others, strict=True)):
        if one >= other:
            position = None
        elif position is None:
            position = place
    return position
