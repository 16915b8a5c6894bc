"""What a convolution costs: counted one by one on small shapes, and by torch on ours."""

import cmath
import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from ddl_teach.operators.convolution.methods import METHODS
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.convolution_cost import (
    PASSES,
    Cost,
    Operations,
    Rates,
    cost,
    direct,
    fft,
    first_below,
    im2col,
    meeting_kernel,
    real_transform,
    seconds,
    tile_grid,
    transform_size,
    winograd,
)

PLAIN = Convolution(2, 3, 7, 6, 4)
SHAPES = [
    PLAIN,
    Convolution(2, 4, 8, 5, 6, (3, 2), (2, 1), (1, 0), 2),
    Convolution(1, 2, 9, 9, 3, (2, 3), (3, 4), (2, 1)),
    Convolution(3, 4, 5, 6, 4, (1, 1), (1, 1), (0, 0), 4),
]
every_pass = pytest.mark.parametrize("direction", PASSES)


def terms(shape):
    """Every product of the definition: of which weight, padded input and output, as indices."""
    ins, outs = shape.in_channels // shape.groups, shape.out_channels // shape.groups
    kernels = list(itertools.product(*map(range, shape.kernel)))
    for n, k, p, q in itertools.product(
        *map(range, (shape.batch, shape.out_channels, shape.output_height, shape.output_width))
    ):
        for c, (i, j) in itertools.product(range(ins), kernels):
            place = p * shape.stride[0] + i, q * shape.stride[1] + j
            yield (k, c, i, j), (n, k // outs * ins + c, *place), (n, k, p, q)


@every_pass
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_definition_is_counted_term_by_term(shape, direction):
    weights, inputs, outputs = zip(*terms(shape), strict=True)
    results = {"forward": outputs, "input_gradient": inputs, "weight_gradient": weights}[direction]
    counted = Operations(len(weights), len(weights) - len(set(results)))
    assert direct(shape, direction).product == counted
    assert direct(shape, direction).transform == Operations()
    assert im2col(shape, direction).product == counted
    patches = {(*source[:2], *where[2:], *weight[2:]) for weight, source, where
               in zip(weights, inputs, outputs, strict=True)}  # fmt: skip
    assert im2col(shape, direction).held == len(patches)


def transformed(numbers, counted):
    """Cooley and Tukey's transform of a power of two numbers, every operation counted."""
    if len(numbers) == 1:
        return numbers
    even, odd = transformed(numbers[::2], counted), transformed(numbers[1::2], counted)
    half = len(even)
    turned = [cmath.exp(-1j * math.pi * k / half) * one for k, one in enumerate(odd)]
    counted["multiplications"] += 4 * half
    counted["additions"] += 2 * half + 4 * half
    return [a + b for a, b in zip(even, turned, strict=True)] + [
        a - b for a, b in zip(even, turned, strict=True)
    ]


@pytest.mark.parametrize(("height", "width"), [(2, 2), (8, 4), (4, 32), (16, 16)])
def test_a_transform_is_counted_by_its_butterflies(height, width):
    counted = {"multiplications": 0, "additions": 0}
    grid = [[cmath.rect(1, row * column) for column in range(width)] for row in range(height)]
    # Two real rows make one complex row, so rows take half of the complex transforms.
    rows = [transformed(row, counted) for row in grid[: height // 2]]
    assert len(rows[0]) == width
    for _ in range(width // 2 + 1):
        transformed([1.0] * height, counted)
    assert real_transform(height, width) == Operations(**counted)
    torch.testing.assert_close(torch.tensor(rows[0]), torch.fft.fft(torch.tensor(grid[0])))


@every_pass
def test_a_complex_product_is_four_real_ones_and_every_set_is_transformed(direction):
    shape = replace(PLAIN, groups=1, height=8, width=8)
    found = fft(shape, direction)
    n, c, k, frequencies = 2, 3, 4, 8 * 5
    sums, length = {"forward": (n * k, c), "input_gradient": (n * c, k),
                    "weight_gradient": (k * c, n)}[direction]  # fmt: skip
    assert found.product == Operations(
        4 * length * sums * frequencies, (2 * length + 2 * (length - 1)) * sums * frequencies
    )
    assert found.transform == real_transform(8, 8).times(n * c + n * k + k * c)
    assert found.held == 2 * frequencies * (n * c + n * k + k * c)


def test_an_fft_does_not_see_the_kernel_but_its_padded_image():
    one, other = (fft(Convolution(2, 3, 30, 30, 4, (r, r), padding=(1, 1))) for r in (3, 11))
    assert (one.product, one.transform, one.held) == (other.product, other.transform, other.held)
    assert transform_size(PLAIN) == (8, 6)
    assert transform_size(replace(PLAIN, padding=(2, 3))) == (12, 12)
    assert transform_size(replace(PLAIN, height=121, width=127)) == (125, 128)


@pytest.mark.parametrize("outputs", [1, 2, 4, 6])
def test_winograds_product_carries_the_tile_squared(outputs):
    shape = Convolution(2, 3, 13, 10, 4, padding=(1, 1))
    tiles = 2 * math.ceil(13 / outputs) * math.ceil(10 / outputs)
    found = winograd(shape, outputs)
    assert found.product.multiplications == (outputs + 2) ** 2 * tiles * 3 * 4
    assert found.product.additions == (outputs + 2) ** 2 * tiles * (3 - 1) * 4
    assert tile_grid(shape, outputs) == (math.ceil(13 / outputs), math.ceil(10 / outputs))


def test_winograd_saves_what_lavin_and_gray_say():
    shape = Convolution(1, 8, 24, 24, 8, padding=(1, 1))
    definition = direct(shape).product.multiplications
    assert definition / winograd(shape, 2).product.multiplications == 2.25
    assert definition / winograd(shape, 4).product.multiplications == 4.0
    assert winograd(shape, 1).product.multiplications == definition


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

    assert begins(1) > begins(64)


@every_pass
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_torch_counts_as_many_products_in_our_im2col(shape, direction):
    x, weight = torch.randn(shape.x_shape), torch.randn(shape.weight_shape)
    gradient = torch.randn(shape.output_shape)
    arguments = {
        "forward": (x, weight),
        "input_gradient": (gradient, weight, shape.x_shape),
        "weight_gradient": (x, gradient, shape.weight_shape),
    }[direction]
    numbers = {"stride": shape.stride, "padding": shape.padding, "groups": shape.groups}
    for method in ("direct", "im2col"):
        with FlopCounterMode(display=False) as counter:
            getattr(METHODS[method], direction)(*arguments, **numbers)
        products = cost(method, shape, direction).product.multiplications
        assert counter.get_total_flops() == 2 * products


def test_a_time_is_the_sum_of_its_parts():
    one = Cost(Operations(30, 20), Operations(7, 3), moved=5)
    assert seconds(one, Rates(product=25, transform=2, bandwidth=4), itemsize=8) == 2 + 5 + 10


def test_where_im2col_and_fft_meet_is_where_their_counts_are_equal():
    shape = Convolution(4, 64, 64, 64, 32)
    slower = 3.0
    kernel = meeting_kernel(4, 64, 32, 64, slower)
    definition = 2 * kernel**2 * 64**2 * 4 * 64 * 32
    found = fft(shape)
    total = found.product.total + slower * found.transform.total
    # The formula leaves out the one column of frequencies more than half, 1 in 32.
    assert definition == pytest.approx(total, rel=1 / 32)


def test_what_has_no_count_is_refused():
    with pytest.raises(ValueError, match="method='winograd_2x3' has no count"):
        cost("winograd_2x3", PLAIN)
    with pytest.raises(ValueError, match="direction='backward' is no pass"):
        cost("fft", PLAIN, "backward")
