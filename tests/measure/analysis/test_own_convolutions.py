"""The course's own convolutions cost what the formula of their method says."""

import torch
from torch import nn

from ddl_measure.analysis import analyse
from ddl_teach.operators.convolution.layer import Convolution2d, use
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.winograd_matrices import matrices
from ddl_teach.operators.divided_batches.transform import in_divided_batches, sites
from ddl_teach.theory.work_depth import direct, fft, im2col, winograd
from ddl_teach.theory.work_depth.counting import WorkDepth

PROBLEM = Convolution(4, 8, 12, 12, 16, padding=(1, 1))


def test_each_method_has_its_own_work_and_the_same_multiply_adds():
    x = torch.empty(4, 8, 12, 12, requires_grad=True)
    reference = analyse(nn.Conv2d(8, 16, 3, padding=1, bias=False), x)
    formulas = {"direct": (direct,), "im2col": (im2col,), "fft": (fft,)}
    formulas |= {f"winograd_{m}x{m}": (winograd, matrices(m, 3)) for m in (2, 4, 6)}
    for method, (formula, *transforms) in formulas.items():
        (row,) = analyse(
            Convolution2d(8, 16, 3, padding=1, bias=False, method=method), x
        ).operations
        for one, name in (
            (row.forward, "forward"),
            (row.input_gradient, "input_gradient"),
            (row.parameter_gradient, "parameter_gradient"),
        ):
            assert WorkDepth(one.work, one.depth) == getattr(formula, name)(PROBLEM, *transforms)
        assert row.forward.multiply_adds == reference.forward.multiply_adds


def test_pieces_are_as_many_smaller_convolutions():
    network = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.ReLU())
    x = torch.randn(4, 8, 12, 12, requires_grad=True)
    (site,) = sites(network, x)
    recipe = "forward direct:2*2; input_gradient direct:4*1; weight_gradient direct:1*1 direct:3*1"
    divided = analyse(in_divided_batches(network, {site.name: recipe}), x)
    whole = analyse(network, x)
    assert divided.uncounted == ()
    assert divided.forward.work == whole.forward.work
    # Gradients of the weights are sums over parts of the batch, added up afterwards.
    assert divided.backward.work == whole.backward.work
    assert divided.forward.multiply_adds == whole.forward.multiply_adds


def test_a_method_whose_work_is_not_known_before_is_named():
    network = nn.Sequential(nn.Conv2d(8, 16, 3, bias=False), nn.ReLU())
    use(network, "auto")
    analysis = analyse(network, torch.empty(2, 8, 9, 9))
    assert analysis.uncounted == ("ddl_teach::convolution",)
    assert analysis.forward.work == 2 * 16 * 7 * 7
