"""Each plain operator gives what its product gives."""

import numpy as np
import pytest
import torch
from comparing import assert_all_close, assert_close, assert_differs, changed

from ddl_teach.operators.attention.tiled import TileSizes, tiled_attention
from ddl_teach.operators.convolution.methods import METHODS
from ddl_teach.operators.divided_batches import dynamic
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Offer, TooLittle
from ddl_teach.operators.recurrence import wavefront as wavefront_product
from ddl_teach.operators.recurrence.stack import Stack
from ddl_teach.plain import (
    direct_convolution,
    fft_convolution,
    flash_attention,
    im2col,
    micro_batches,
    wavefront,
    winograd,
)

CONVOLUTIONS = {  # by the product's name
    "direct": direct_convolution,
    "im2col": im2col,
    "fft": fft_convolution,
    "winograd_2x2": winograd,
}
SHAPES = {  # x and w; Winograd's filters are 3 x 3
    "odd": ((2, 3, 7, 8), (4, 3, 3, 3)),
    "one output": ((1, 1, 3, 3), (1, 1, 3, 3)),
    "even": ((1, 2, 6, 4), (2, 2, 3, 3)),
    "tall": ((2, 2, 9, 5), (3, 2, 4, 1)),
    "whole image": ((1, 2, 5, 6), (2, 2, 5, 6)),
}
CASES = [
    (name, shape)
    for name in CONVOLUTIONS
    for shape in SHAPES
    if name != "winograd_2x2" or SHAPES[shape][1][2:] == (3, 3)
]


def both(name, shape, change=None):
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal(size) for size in SHAPES[shape])
    product = METHODS[name].forward(torch.from_numpy(x), torch.from_numpy(w))
    return changed(CONVOLUTIONS[name], change).convolve(x, w), product.numpy()


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_a_convolution_gives_what_its_product_gives(name, shape):
    assert_close(*both(name, shape))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("direct", "i + u, j + v", "i - u, j - v"),
        ("im2col", "u : u + high", "rows - 1 - u : rows - 1 - u + high"),
        ("fft", ".conj()", ""),
        ("winograd_2x2", "[0.5, -0.5, 0.5]", "[0.5, 0.5, 0.5]"),
    ],
)
def test_a_change_of_a_convolution_is_noticed(name, old, new):
    assert_differs([both(name, "odd", (old, new))])


def job(seed):
    """Random offers for a batch; some batches cannot be divided."""
    rng = np.random.default_rng(seed)
    offers = [
        (method, int(size), float(rng.random()), int(rng.integers(100)))
        for method in ("fft", "direct")
        for size in rng.choice(np.arange(1, 9), 3, replace=False)
    ]
    return int(rng.integers(1, 20)), offers, 60


def divided_both(seed, change=None):
    """The least seconds by both; infinite where no division fits."""
    batch, offers, limit = job(seed)
    found, pieces = changed(micro_batches, change).divide(batch, offers, limit)
    try:
        division = dynamic.divide(
            DivisibleBatch("any", batch, tuple(Offer(*one) for one in offers)), limit
        )
    except TooLittle:
        return found, np.inf, pieces
    return found, division.seconds, pieces


@pytest.mark.parametrize("seed", range(30))
def test_a_batch_is_divided_as_fast_as_by_the_product(seed):
    batch, offers, limit = job(seed)
    found, product, pieces = divided_both(seed)
    assert found == pytest.approx(product, rel=1e-12)
    if found < np.inf:
        assert sum(size for _, size, _, _ in pieces) == batch
        assert sum(seconds for _, _, seconds, _ in pieces) == pytest.approx(found, rel=1e-12)
        assert all(piece in offers and piece[3] <= limit for piece in pieces)


def test_some_batches_can_be_divided_and_some_cannot():
    answers = [divided_both(seed)[0] for seed in range(30)]
    assert 3 < sum(np.isinf(answers)) < 27


@pytest.mark.parametrize(("old", "new"), [("<= limit", "<= 100"), ("+ seconds <", "+ seconds >")])
def test_a_change_of_the_dynamic_program_is_noticed(old, new):
    answers = [divided_both(seed, (old, new))[:2] for seed in range(30)]
    assert any(one != pytest.approx(other, rel=1e-12) for one, other in answers)


def wavefront_both(layers, steps, change=None):
    torch.manual_seed(layers)
    network = torch.nn.RNN(6, 6, layers).double()
    x = torch.randn(steps, 4, 6, dtype=torch.float64)
    with torch.no_grad():
        outputs, (last,), _ = wavefront_product.forward(Stack.of(network), x)
    weights = [[one.detach().numpy() for one in layer] for layer in network.all_weights]
    w, u = (np.stack([one[place] for one in weights]) for place in (0, 1))
    b = np.stack([[one[2] + one[3]] for one in weights])
    hidden = changed(wavefront, change).forward(x.numpy(), w, u, b)
    return [hidden[-1], hidden[:, -1]], [outputs.numpy(), last.numpy()]


@pytest.mark.parametrize(("layers", "steps"), [(1, 1), (1, 5), (4, 1), (3, 7), (7, 3), (4, 4)])
def test_a_wavefront_gives_what_its_product_gives(layers, steps):
    assert_all_close([wavefront_both(layers, steps)])


@pytest.mark.parametrize(
    ("old", "new"),
    [("layers + steps - 1", "layers + steps - 2"), ("h[layer + 1, step]", "h[layer, step]")],
)
def test_a_change_of_the_wavefront_is_noticed(old, new):
    assert_differs([wavefront_both(3, 4, (old, new))])


# -- attention ------------------------------------------------------------------------------

HEADS = {"causal": (13, 4, True), "all": (9, 5, False), "one tile": (6, 8, True)}


def attended(length, tile, causal, change=None):
    """Output and gradients in the plain way and in the product's."""
    rng = np.random.default_rng(length)
    q, k, v, gradient = rng.standard_normal((4, length, 3))
    plain = changed(flash_attention, change)
    output, log_total = plain.forward(q, k, v, tile, causal)
    backward = plain.backward(q, k, v, output, log_total, gradient, tile, causal)
    tensors = [torch.tensor(each, requires_grad=True) for each in (q, k, v)]
    theirs = tiled_attention(*tensors, causal, TileSizes(tile, tile))
    theirs.backward(torch.from_numpy(gradient))
    ours = [output, *backward]
    return ours, [theirs.detach().numpy(), *(each.grad.numpy() for each in tensors)]


@pytest.mark.parametrize("case", HEADS)
def test_attention_in_tiles_gives_what_its_product_gives(case):
    assert_all_close([attended(*HEADS[case])])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("shrink * output[mine]", "output[mine]"),
        ("- shared[mine]", ""),
        ("columns <= rows", "columns < rows + 2"),
    ],
)
def test_a_change_of_attention_in_tiles_is_noticed(old, new):
    assert_differs([attended(*HEADS["causal"], (old, new))])
