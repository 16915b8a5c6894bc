"""How long a convolution takes, from its counts and three rates of a processor.

    time = products / product rate + transforms / transform rate + bytes moved / bandwidth

The parts come one after another here; a processor may do some at once. What to look at: FFT and
im2col meet where 2 r r = 4 + 5 log2(n) slower (1/N + 1/C + 1/K): each set of transforms is shared,
by K outputs, N images, C inputs; so channels and batch decide, and not the kernel alone.
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
    """How long a pass takes."""
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
    An operation of a transform takes `slower` times as long as one of a product."""
    shares = 1 / batch + 1 / in_channels + 1 / out_channels
    return math.sqrt(2 + 2.5 * slower * math.log2(size) * shares)


def first_below(costs: Sequence[float], others: Sequence[float]) -> int | None:
    """The position from which on `costs` stay below `others`, or None where they never do."""
    above = [cost >= other for cost, other in zip(costs, others, strict=True)]
    first = max((place + 1 for place, is_above in enumerate(above) if is_above), default=0)
    return first if first < len(costs) else None
