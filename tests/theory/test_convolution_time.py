"""Times from counts and rates, and where two of them meet."""

import pytest

from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.convolution_cost import ConvolutionCost, Operations, cost, real_transform
from ddl_teach.theory.convolution_time import Rates, first_below, meeting_kernel, parts, seconds


def test_a_crossover_is_where_one_stays_below_the_other():
    assert first_below([5, 4, 3, 2], [4, 4, 4, 4]) == 2
    assert first_below([1, 5, 1, 1], [4, 4, 4, 4]) == 2
    assert first_below([1, 1], [2, 2]) == 0
    assert first_below([1, 4], [4, 4]) is None


def test_more_channels_let_the_fft_win_at_smaller_kernels():
    kernels = range(1, 16, 2)

    def begins(channels):
        shapes = [
            Convolution(16, channels, 32, 32, 64, (r, r), padding=(r // 2, r // 2))
            for r in kernels
        ]
        counts = {
            name: [cost(name, shape).operations for shape in shapes] for name in ("fft", "im2col")
        }
        return kernels[first_below(counts["fft"], counts["im2col"])]

    assert begins(4) > begins(64)


def test_a_time_is_the_sum_of_its_parts():
    one = ConvolutionCost(Operations(30, 20), Operations(7, 3), moved=5)
    rates = Rates(product=25, transform=2, bandwidth=4)
    assert seconds(one, rates, itemsize=8) == 2 + 5 + 10
    assert parts(one, rates)["moving bytes"] == 5


def test_where_im2col_and_fft_meet_is_where_their_counts_are_equal():
    size, slower = 64, 3.0
    kernel = meeting_kernel(4, 64, 32, size, slower)
    definition = 2 * kernel**2 * size**2 * 4 * 64 * 32
    # A transform of the whole image; half as many frequencies as pixels, 8 operations for each.
    transforms = real_transform(size, size).total * (4 * 64 + 64 * 32 + 4 * 32)
    products = 8 * size**2 / 2 * 4 * 64 * 32
    # The formula leaves out the one column of frequencies more than half, 1 in 32.
    assert definition == pytest.approx(products + slower * transforms, rel=1 / 32)
