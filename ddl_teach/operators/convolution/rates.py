"""How fast this machine multiplies, transforms and copies: three numbers, measured in a moment.

Each rate is the best of a few short runs: what disturbs a run makes it slower and never faster.
"""

import time
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch

from ddl_teach.theory.convolution_cost import real_transform
from ddl_teach.theory.convolution_time import Rates

ROWS, INNER, COLUMNS = 128, 576, 3136  # kernels of 3 x 3 over 64 channels of 56 x 56
IMAGES, SIZE = 256, 32
PLACES, VALUES = 36, 1 << 16  # tiles of 6 x 6, as many as a block has
CHANNELS, KERNEL = 256, 3  # patches of images of 32 x 32, laid out as im2col does


def machine_rates() -> Rates:
    """This machine's rates with as many threads as torch uses now; measured the first time."""
    return _measured(torch.get_num_threads())


@cache
def _measured(threads: int) -> Rates:
    with torch.inference_mode():
        left, right = torch.randn(ROWS, INNER), torch.randn(INNER, COLUMNS)
        matrix, tiles = torch.randn(PLACES, PLACES), torch.randn(PLACES, VALUES)
        source = torch.randn(CHANNELS, 1, SIZE, SIZE)
        patches = source.unfold(2, KERNEL, 1).unfold(3, KERNEL, 1).permute(0, 4, 5, 1, 2, 3)
        return Rates(
            product=2 * ROWS * INNER * COLUMNS / fastest([lambda: left @ right])[0],
            transform=2 * PLACES * PLACES * VALUES / fastest([lambda: matrix @ tiles])[0],
            bandwidth=2 * patches.nbytes / fastest([patches.contiguous])[0],
        )


def butterfly_rate() -> float:
    """Operations of fast Fourier transforms, by stages of radix 2, that torch's take a second."""
    images = torch.randn(IMAGES, SIZE, SIZE)
    [seconds] = fastest([lambda: torch.fft.rfft2(images)])
    return IMAGES * real_transform(SIZE, SIZE).total / seconds


def fastest(works: Sequence[Callable[[], object]], repetitions: int = 9) -> list[float]:
    """The seconds of the shortest run of each work. They take turns, after one to warm up."""
    seconds = np.empty((1 + repetitions, len(works)))
    for turn, seat in np.ndindex(*seconds.shape):
        place = (turn + seat) % len(works)  # the order rotates: no work always follows the same
        begun = time.perf_counter()
        works[place]()
        seconds[turn, place] = time.perf_counter() - begun
    return [float(shortest) for shortest in seconds[1:].min(axis=0)]
