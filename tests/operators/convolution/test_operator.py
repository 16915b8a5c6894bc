"""The torch operator: differentiable to any order, compiled, exported, and refusing in words."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from operators.convolution.shapes import network
from torch import nn

from ddl_teach.operators.convolution import Convolution2d, convolve, use, use_torch
from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.operators.convolution.operator import (
    admitted,
    free_bytes,
    input_gradient,
    weight_gradient,
)
from ddl_teach.operators.convolution.problem import Convolution, sizes_of


@pytest.mark.parametrize("name", METHODS)
def test_a_network_uses_any_method_and_none_again(name):
    net, x = network(), torch.randn(2, 3, 8, 7, dtype=torch.float64)
    right, parameters = net(x), list(net.parameters())
    used = use(net, name, otherwise="im2col")
    assert used == {"0": name, "2": "im2col" if "winograd" in name else name, "4": name}
    assert [type(net[place]) for place in (0, 2, 4)] == [Convolution2d] * 3
    assert torch.allclose(net(x), right, atol=1e-10)
    assert all(one is other for one, other in zip(net.parameters(), parameters, strict=True))
    use_torch(net)
    assert [type(net[place]) for place in (0, 2, 4)] == [nn.Conv2d] * 3
    assert torch.equal(net(x), right)


@pytest.mark.parametrize("name", ["direct", "fft", "winograd_2x2"])
def test_gradients_are_torchs(name):
    x, weight = torch.randn(2, 3, 7, 6).double(), torch.randn(4, 3, 3, 3).double()
    both = (x.requires_grad_(), weight.requires_grad_())
    ours, right = (
        torch.autograd.grad(convolved(*both, padding=1).square().sum(), both)
        for convolved in (partial(convolve, method=name), nn.functional.conv2d)
    )
    for gradient, wanted in zip(ours, right, strict=True):
        torch.testing.assert_close(gradient, wanted)


def test_layers_that_cannot_are_named_and_nothing_is_changed():
    net = network()
    with pytest.raises(ValueError, match=r"(?s)otherwise=.*2: stride=\(2, 2\)"):
        use(net, "winograd_4x4")
    with pytest.raises(ValueError, match=r"'7', which are no convolutions.* 0, 2, 4"):
        use(net, {"7": "fft"})
    assert not [layer for layer in net if isinstance(layer, Convolution2d)]
    assert use(net, {"4": "direct"}) == {"4": "direct"}
    dilated = nn.Sequential(nn.Conv2d(2, 2, 3, dilation=2), nn.Conv2d(2, 2, 2, padding="same"))
    with pytest.raises(ValueError, match=r"(?s)dilation=\(2, 2\).*padding='same' is not the same"):
        use(dilated, "im2col")
    with pytest.raises(ValueError, match="stride must be 1"):
        Convolution2d(2, 2, 3, stride=2)


def test_a_layer_starts_as_torchs_own():
    torch.manual_seed(3)
    ours = Convolution2d(4, 6, 3, padding=1, groups=2, method="im2col")
    torch.manual_seed(3)
    theirs = nn.Conv2d(4, 6, 3, padding=1, groups=2)
    x = torch.randn(2, 4, 6, 6)
    theirs.load_state_dict(ours.state_dict())
    assert torch.allclose(ours(x), theirs(x), atol=1e-5)
    assert "method='im2col'" in repr(ours)


def call(x=(1, 4, 6, 6), weight=(4, 4, 3, 3), dtype=torch.float32, **settings):
    return convolve(torch.ones(x, dtype=dtype), torch.ones(weight, dtype=dtype), **settings)


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        ({"x": (4, 6, 6)}, ValueError, r"x has shape \(4, 6, 6\); it must have 4 axes"),
        ({"weight": (4, 3)}, ValueError, "weight has shape"),
        ({"dtype": torch.int64}, TypeError, "x is of torch.int64"),
        ({"groups": 3}, ValueError, "in_channels=4 cannot be divided into groups=3"),
        ({"groups": 2}, ValueError, "weight has 4 input channels.* it must have 2"),
        ({"groups": 0}, ValueError, "groups must be at least 1"),
        ({"weight": (4, 4, 9, 3)}, ValueError, "kernel=.* does not fit: the height is 6"),
        ({"stride": 0}, ValueError, "stride must be at least 1"),
        ({"stride": 1.5}, ValueError, "stride=1.5 must be a number or a pair"),
        ({"padding": -1}, ValueError, "padding must be at least 0"),
        ({"padding": (1, 2, 3)}, ValueError, "padding=.* must be a number or a pair"),
        ({"x": (0, 4, 6, 6)}, ValueError, "batch must be at least 1"),
        ({"method": "winograd_44"}, ValueError, "did you mean 'winograd_4x4'"),
        ({"method": "winograd_2x2", "stride": 2}, ValueError, "These can: direct, im2col, fft"),
    ],
)
def test_what_cannot_be_is_refused_by_the_name_of_the_argument(request_, error, words):
    with pytest.raises(error, match=words):
        call(**request_)


def test_tensors_that_do_not_belong_together_are_refused():
    x = torch.ones(1, 1, 4, 4)
    with pytest.raises(TypeError, match=r"weight is of torch.float64 but x of torch.float32"):
        convolve(x, torch.ones(1, 1, 3, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="weight is on meta but x on cpu"):
        sizes_of(x, torch.ones(1, 1, 3, 3, device="meta"))
    with pytest.raises(TypeError, match="weight is a list"):
        sizes_of(x, [1.0])


def test_more_than_the_limit_is_refused_before_it_is_taken():
    problem = Convolution(1, 4, 6, 6, 4)
    needs = {name: method.workspace(problem, torch.float32) for name, method in METHODS.items()}
    for name, size in needs.items():
        assert call(method=name, limit=size).shape == problem.output_shape
        with pytest.raises(MemoryError, match=f"needs a workspace of {size:,} bytes.*limit="):
            call(method=name, limit=size - 1)
    with pytest.raises(MemoryError, match=rf"fit: direct \({needs['direct']:,}\)"):
        call(method="fft", limit=needs["direct"])
    with pytest.raises(MemoryError, match="the least takes 'direct'"):
        call(method="fft", limit=1)


def test_the_limit_holds_for_the_gradients_too():
    wide = Convolution(1, 4, 6, 6, 4)
    x = torch.ones(wide.x_shape, requires_grad=True)
    weight = torch.ones(wide.weight_shape, requires_grad=True)
    arriving = torch.ones(wide.output_shape)
    with pytest.raises(MemoryError, match="needs a workspace"):
        input_gradient(arriving, weight, x.shape, [1, 1], [0, 0], 1, "fft", 10)
    with pytest.raises(MemoryError, match="needs a workspace"):
        weight_gradient(x, arriving, weight.shape, [1, 1], [0, 0], 1, "fft", 10)


def test_more_than_is_free_is_refused_without_touching_it():
    # A meta tensor has a shape and no memory.
    huge = Convolution(1, 1 << 16, 1 << 14, 1 << 14, 1 << 16)
    assert find("direct").workspace(huge, torch.float32) > free_bytes(torch.device("cpu"))
    with pytest.raises(MemoryError, match=r"the result takes .* that are free: cut the batch"):
        admitted("forward", huge, torch.empty(0), "im2col")
    few = Convolution(1, 1 << 16, 1 << 14, 1 << 14, 1)  # a small result of many channels
    with pytest.raises(MemoryError, match="bytes that are free beside its result"):
        admitted("forward", few, torch.empty(0), "im2col")
    # A piece of a batch needs little, and the result is that of all pieces.
    wide = Convolution(1 << 16, 1, 1 << 12, 1 << 12, 1)
    piece = replace(wide, batch=1)
    with pytest.raises(MemoryError, match="the result takes"):
        admitted("forward", piece, torch.empty(0), "direct", None, wide)
    with pytest.raises(TypeError, match="x is a ndarray; it must be a torch tensor"):
        convolve(np.ones((1, 1, 4, 4)), torch.ones(1, 1, 3, 3))
