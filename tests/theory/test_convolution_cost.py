"""What a convolution costs: counted one by one on small shapes, and by torch on ours."""

import cmath
import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from ddl_teach.operators.convolution.methods import find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.convolution_cost import (
    PASSES,
    ConvolutionCost,
    Operations,
    cost,
    direct,
    fft,
    im2col,
    real_transform,
    winograd,
)
from ddl_teach.theory.convolution_tiles import tile_grid, transform_grid, transform_size

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
    assert direct(shape, direction).transforms == Operations()
    assert direct(shape, direction).held == 0
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


def test_an_fft_is_counted_by_its_tiles_frequencies_and_three_products():
    shape = Convolution(2, 3, 30, 30, 4, padding=(1, 1))
    found = fft(shape)
    # Tiles of 16 x 16 give 14 x 14 outputs; three a row, three a column, two images.
    tiles, frequencies = 3 * 3 * 2, 16 * 9
    assert found.product.multiplications == 3 * frequencies * tiles * 3 * 4
    assert found.product.additions == 3 * frequencies * tiles * (3 - 1) * 4
    # Columns of real numbers, and nine of complex ones with three results; back what is kept.
    there, back = 16 * 16 * 18 + 9 * 32 * 48, 9 * 48 * 28 + 14 * 18 * 14
    filters = 3 * frequencies * 9 * 3 * 4
    assert found.transforms.multiplications == tiles * (3 * there + 4 * back) + filters
    assert found.held == 3 * frequencies * (tiles * (3 + 4) + 3 * 4)


def test_tiles_of_transforms_are_four_kernels_or_the_image():
    assert transform_size(PLAIN) == (8, 6)
    assert transform_size(replace(PLAIN, padding=(2, 3))) == (12, 12)
    assert transform_size(replace(PLAIN, height=121, width=127)) == (16, 16)
    assert transform_size(replace(PLAIN, height=121, kernel=(11, 1))) == (64, 4)
    assert transform_grid(PLAIN) == (1, 1)
    assert transform_grid(replace(PLAIN, height=121, width=127)) == (9, 9)


def test_backwards_an_image_is_as_large_as_the_gradient_with_kernels_around_it():
    shape = replace(PLAIN, height=7, width=8)
    assert transform_size(shape, "input_gradient") == (7 + 2, 8 + 2)
    large = replace(PLAIN, height=121, width=127)
    assert transform_grid(large, "input_gradient") == (math.ceil(121 / 14), math.ceil(127 / 14))
    assert transform_size(replace(shape, kernel=(2, 3)), "input_gradient") == (8, 10)
    assert tile_grid(shape, 4, "input_gradient") == (2, 2)


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


@every_pass
@pytest.mark.parametrize("shape", [*SHAPES, replace(PLAIN, height=40, width=60)], ids=str)
def test_torch_counts_as_many_products_and_transforms_in_our_fft(shape, direction):
    found = fft(shape, direction)
    both = found.product.multiplications + found.transforms.multiplications
    assert counted_products("fft", shape, direction) == both


def in_place(total, left, right, **_):
    """What torch's counter knows of addmm and baddbmm, for the form that adds to a tensor."""
    return 2 * math.prod(left) * right[-1]


def counted_products(method, shape, direction):
    """How many multiplications torch sees in the matrix products of one pass of ours."""
    x, weight = torch.randn(shape.x_shape), torch.randn(shape.weight_shape)
    gradient = torch.randn(shape.output_shape)
    arguments = {
        "forward": (x, weight),
        "input_gradient": (gradient, weight, shape.x_shape),
        "weight_gradient": (x, gradient, shape.weight_shape),
    }[direction]
    numbers = {"stride": shape.stride, "padding": shape.padding, "groups": shape.groups}
    known = {torch.ops.aten.baddbmm_: in_place, torch.ops.aten.addmm_: in_place}
    with FlopCounterMode(display=False, custom_mapping=known) as counter:
        getattr(find(method), direction)(*arguments, **numbers)
    return counter.get_total_flops() / 2


@pytest.mark.parametrize("method", ["direct", "im2col"])
@every_pass
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_torch_counts_as_many_products_in_our_direct_and_im2col(shape, direction, method):
    products = cost(method, shape, direction).product.multiplications
    assert counted_products(method, shape, direction) == products


@every_pass
@pytest.mark.parametrize("outputs", [2, 3, 4])
def test_torch_counts_as_many_products_and_transforms_in_our_winograd(outputs, direction):
    shape = Convolution(2, 4, 9, 8, 6, (3, 2), padding=(1, 0), groups=2)
    found = winograd(shape, outputs, direction)
    both = found.product.multiplications + found.transforms.multiplications
    assert counted_products(f"winograd_{outputs}x{outputs}", shape, direction) == both


def test_what_has_no_count_is_refused():
    with pytest.raises(ValueError, match="no counted method is called 'winograd_2x3'"):
        cost("winograd_2x3", PLAIN)
    with pytest.raises(ValueError, match="no pass is called 'backward'"):
        cost("fft", PLAIN, "backward")


@every_pass
def test_what_moves_is_the_data_twice_and_what_stages_hand_on(direction):
    numbers = 2 * 3 * 7 * 6 + 2 * 4 * 5 * 4 + 4 * 3 * 9  # images, results and weights of PLAIN
    assert (PLAIN.output_height, PLAIN.output_width) == (5, 4)
    column, tiles = im2col(PLAIN, direction), winograd(PLAIN, 2, direction)
    assert column.moved == 2 * numbers + 2 * column.held
    assert tiles.moved == 2 * numbers + 3 * tiles.held
    height, width = transform_size(PLAIN, direction)
    channels = (4, 3) if direction == "input_gradient" else (3, 4)
    pixels = channels[0] * height * width + channels[1] * (height - 2) * (width - 2)
    turned = 2 * math.prod(transform_grid(PLAIN, direction)) * pixels  # of 2 images
    spectra = fft(PLAIN, direction)
    assert spectra.moved == 2 * numbers + 2 * turned + 2 * spectra.held


def test_a_cost_of_products_alone_holds_and_moves_nothing():
    alone = ConvolutionCost(Operations(5, 4))
    assert (alone.held, alone.moved) == (0, 0)
