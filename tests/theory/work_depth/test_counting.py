"""Work, depth and bounds as formulas; that they count right is shown in tests/operators/graphs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.winograd_matrices import matrices
from ddl_teach.theory.work_depth import (
    activation,
    attention,
    direct,
    fft,
    fully_connected,
    gru,
    im2col,
    lstm,
    max_pooling,
    rnn,
    softmax,
    winograd,
)
from ddl_teach.theory.work_depth.counting import WorkDepth, dot, joined, summation, tree_depth

COUNTED = st.builds(WorkDepth, st.integers(0, 10**9), st.integers(0, 10**4))
SIZE = st.integers(1, 10**6)


@given(SIZE)
def test_a_tree_is_as_deep_as_its_halvings(numbers):
    halvings, left = 0, numbers
    while left > 1:
        left, halvings = math.ceil(left / 2), halvings + 1
    assert tree_depth(numbers) == halvings == joined([(0, numbers)])
    assert dot(numbers) == WorkDepth(2 * numbers - 1, 1 + halvings)
    assert summation(numbers).work == numbers - 1


@given(COUNTED, COUNTED, COUNTED, st.integers(1, 9))
def test_series_and_parallel(one, two, three, number):
    assert one.then(two).then(three) == one.then(two.then(three))
    assert one.beside(two) == two.beside(one)
    several = one
    for _ in range(number - 1):
        several = several.beside(one)
    assert one.copies(number) == several


def test_parallelism_is_work_over_depth():
    assert fully_connected.forward(16, 64, 64, bias=False).parallelism == 130_048 / 7
    assert WorkDepth(0, 0).parallelism == 0


@given(SIZE, SIZE, SIZE)
def test_each_pass_of_a_layer_is_as_deep_as_its_own_sum(batch, inputs, outputs):
    sizes = {"batch": batch, "inputs": inputs, "outputs": outputs, "bias": False}
    depths = [way(**sizes).depth for way in (fully_connected.forward,
              fully_connected.input_gradient, fully_connected.parameter_gradient)]  # fmt: skip
    assert depths == [1 + tree_depth(summed) for summed in (inputs, outputs, batch)]


def test_layers_by_hand():
    """A bias is an addition more; a softmax takes maximum, differences, powers, sum and shares."""
    assert fully_connected.forward(2, 3, 4) == WorkDepth(8 * (3 + 3), 1 + 2)
    assert softmax.forward(2, 4) == WorkDepth(2 * (3 + 4 + 4 + 3 + 4), 2 * 2 + 3)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize(
    ("cell", "gates", "own", "chain"), [(rnn, 1, 1, 3), (gru, 3, 7, 9), (lstm, 4, 9, 7)]
)
def test_each_step_of_a_cell_waits_for_the_one_before(cell, gates, own, chain, steps):
    """Four inputs and a bias in the first step, then four hidden numbers in each."""
    assert cell.forward(1, steps, 4, 4) == WorkDepth(
        steps * 4 * (2 * gates * 8 + own), 3 + chain + (steps - 1) * (2 + chain)
    )


# VGG-16's second layer, batch 16.
VGG = Convolution(16, 64, 224, 224, 64, (3, 3), (1, 1), (1, 1))


def test_a_weight_gradient_sums_over_batch_and_positions():
    assert direct.parameter_gradient(VGG).depth == 1 + math.ceil(math.log2(16 * 224 * 224))
    assert direct.forward(VGG).depth == 1 + math.ceil(math.log2(9 * 64))


@pytest.mark.parametrize(("outputs", "products"), [(2, 4.0), (4, 2.25)])
def test_winograd_multiplies_a_tile_squared_for_its_outputs(outputs, products):
    tile, transforms = outputs + 2, matrices(outputs, 3)
    one, many = (Convolution(1, channels, tile, tile, 1) for channels in (1, 1001))
    data = winograd.transformed(transforms[0], np.zeros((tile, tile), int)).work
    kernel = winograd.transformed(transforms[1], np.zeros((3, 3), int)).work
    more = winograd.forward(many, transforms).work - winograd.forward(one, transforms).work
    assert more == 1000 * (2 * tile**2 + data + kernel)
    assert tile**2 / outputs**2 == products


def test_transforms_of_the_smallest_tile_add_as_often_as_lavin_and_gray_count():
    data, _, output = matrices(2, 3)
    assert winograd.transformed(data).work == 32
    assert winograd.transformed(output).work == 24


@pytest.mark.parametrize("channels", [1, 3])
def test_winograds_gradient_of_the_input_is_a_pass_with_channels_changed(channels):
    """Four images of 5 x 5 pixels: 3 x 3 tiles each, in which two products are one sum."""
    transforms = matrices(2, 3)
    problem = Convolution(4, channels, 5, 5, 2, padding=(1, 1))
    data, kernel, output = (winograd.transformed(matrix).work for matrix in transforms)
    back = winograd.input_gradient(problem, transforms)
    tiles, sums = 4 * 3 * 3, 16 * 3
    assert back.work == (
        tiles * 2 * data + 2 * channels * kernel + tiles * channels * (sums + output)
    )
    turned = replace(problem, in_channels=2, out_channels=channels)
    assert back == winograd.forward(turned, transforms)


def test_the_kernel_is_not_in_the_work_of_frequencies():
    def frequencies(size):
        scaled = 4 * 8 * (29 - size) ** 2
        return fft.forward(Convolution(4, 8, 28, 28, 8, (size, size))).work - scaled

    assert frequencies(3) == frequencies(7) == frequencies(15)
    small, large = (Convolution(4, 8, 28, 28, 8, (size, size)) for size in (3, 7))
    assert direct.forward(large).work > 3 * direct.forward(small).work


def test_im2col_computes_the_gradients_of_the_padding_too():
    assert im2col.input_gradient(VGG).work > direct.input_gradient(VGG).work
    bare = Convolution(16, 64, 224, 224, 64, (3, 3))
    assert im2col.input_gradient(bare).work == direct.input_gradient(bare).work


def test_attention_grows_sideways_and_a_recurrent_layer_lengthwise():
    sizes = [(attention.forward(1, 8, steps, steps, 64), lstm.forward(1, steps, 512, 512))
             for steps in (128, 256)]  # fmt: skip
    (short, short_chain), (long, long_chain) = sizes
    assert 3.9 < long.work / short.work < 4.1
    assert long.depth == short.depth + 3  # the maximum, the sum, and the values
    assert long_chain.work == 2 * short_chain.work
    assert 1.9 < long_chain.depth / short_chain.depth < 2


@pytest.mark.parametrize(
    ("way", "sizes", "words"),
    [
        (activation.forward, {"elements": 3, "function": "swish"}, "no counted function is"),
        (activation.forward, {"elements": 0}, "elements must be at least 1"),
        (fully_connected.forward, {"batch": 2.5, "inputs": 1, "outputs": 1}, "batch must be"),
        (max_pooling.forward, {"planes": 1, "height": 2, "width": 2, "kernel": (3, 3)},
         "window of 3 does not fit into 2"),
        (winograd.forward, {"problem": VGG, "transforms": matrices(2, 2)}, "take another method"),
        (winograd.forward, {"problem": VGG, "transforms": matrices(2, 3)[::-1]}, "must be"),
    ],
)  # fmt: skip
def test_impossible_sizes_are_refused(way, sizes, words):
    with pytest.raises((ValueError, TypeError), match=words):
        way(**sizes)


@given(COUNTED, st.integers(1, 10**6))
def test_the_bounds_enclose_and_meet(counted, processors):
    if not counted.work >= counted.depth > 0:
        counted = WorkDepth(counted.work + 1, 1)
    low, high = counted.lower_bound(processors), counted.greedy_bound(processors)
    assert low <= high < 2 * low
    assert counted.lower_bound(1) == counted.greedy_bound(1) == counted.work
