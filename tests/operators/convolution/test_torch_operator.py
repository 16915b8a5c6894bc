"""torch knows the operator: autograd to the second order, compilers and exporters."""

import shutil

import pytest
import torch
from operators.convolution.shapes import network

from ddl_teach.operators.convolution import convolve, use
from ddl_teach.operators.convolution.methods import METHODS
from ddl_teach.operators.convolution.operator import (
    convolution,
    input_gradient,
    weight_gradient,
)

pytestmark = pytest.mark.slow

NUMBERS = ([1, 1], [1, 0], 2, "winograd_2x2", None)


def pair_of_tensors(requires_grad=True, height=5):
    make = torch.Generator().manual_seed(0)
    x = torch.randn(2, 2, height, 4, generator=make, dtype=torch.float64)
    weight = torch.randn(2, 1, 3, 3, generator=make, dtype=torch.float64)
    return x.requires_grad_(requires_grad), weight.requires_grad_(requires_grad)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.sampled(3)
def test_gradients_of_gradients_are_right(name):
    def function(x, weight):
        return convolve(x, weight, padding=(1, 0), groups=2, method=name)

    assert torch.autograd.gradcheck(function, pair_of_tensors())
    # Along random directions: entry by entry the FFT's alone would take twenty seconds.
    assert torch.autograd.gradgradcheck(function, pair_of_tensors(), fast_mode=True)


@pytest.mark.long
def test_torch_finds_the_three_operators_well_made():
    x, weight = pair_of_tensors()
    gradient = torch.ones(2, 2, 5, 2, dtype=torch.float64, requires_grad=True)
    for operator, *data in (
        (convolution, x, weight),
        (input_gradient, gradient, weight, list(x.shape)),
        (weight_gradient, x, gradient, list(weight.shape)),
    ):
        results = torch.library.opcheck(operator, (*data, *NUMBERS))
        assert set(results.values()) == {"SUCCESS"}


BACKENDS = ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.long)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_compiled_network_gives_the_same_for_any_batch(backend):
    if backend == "inductor" and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("inductor needs a C++ compiler")
    if backend == "inductor" and " " in torch.__file__:
        pytest.skip("inductor cannot link with a torch in a path with a space")
    torch.compiler.reset()
    # Inductor compiles C++ for seconds a layer: one layer is enough for it.
    net = network()[:1] if backend == "inductor" else network()
    use(net, "winograd_4x4", otherwise="im2col")
    compiled = torch.compile(net, fullgraph=True, backend=backend, dynamic=True)
    for batch in (2, 3):
        x = torch.randn(batch, 3, 8, 7, dtype=torch.float64)
        gradients = []
        for one in (net, compiled):
            net.zero_grad()
            output = one(x)
            output.square().sum().backward()
            gradients.append([output.detach(), *(each.grad for each in net.parameters())])
        for plain, ours in zip(*gradients, strict=True):
            assert torch.allclose(plain, ours, rtol=1e-12, atol=1e-12)


def test_an_exported_network_keeps_the_operator():
    net = network()
    use(net, "fft")
    x = torch.randn(2, 3, 8, 7, dtype=torch.float64)
    shapes = ({0: torch.export.Dim("batch")},)
    exported = torch.export.export(net, (x,), dynamic_shapes=shapes)
    named = [node.target for node in exported.graph.nodes if node.op == "call_function"]
    assert named.count(torch.ops.ddl_teach.convolution.default) == 3
    longer = torch.cat([x, x, x])
    assert torch.allclose(exported.module()(longer), net(longer))
