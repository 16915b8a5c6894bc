"""How many digits a convolution loses: its result beside one in double precision.

The relative error is |ours - right| / |right| over a whole result, for inputs and weights drawn
from the normal distribution and rounded to the short numbers first, so that only the arithmetic
counts. What to look at: the points of Winograd's transform have powers up to the tile's size, and
what they add is subtracted again; so the error grows with each larger tile, while direct, im2col
and FFT stay within a few roundings.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from ddl_teach.operators.convolution import direct
from ddl_teach.operators.convolution.problem import Convolution


def relative_error(
    forward: Callable[..., Tensor], problem: Convolution, dtype: torch.dtype, seed: int = 0
) -> float:
    """The relative error of an algorithm's `forward` pass in numbers of type `dtype`."""
    random_numbers = torch.Generator().manual_seed(seed)
    x, weight = (
        torch.randn(shape, generator=random_numbers, dtype=torch.float64).to(dtype)
        for shape in (problem.x_shape, problem.weight_shape)
    )
    right = direct.forward(x.double(), weight.double(), problem)
    ours = forward(x, weight, problem)
    return float((ours.double() - right).norm() / right.norm())
