"""Random convolutions, drawn by a seed, and what torch says of them."""

import random

import torch
from torch import nn
from torch.nn.functional import conv2d

from ddl_teach.operators.convolution.problem import Convolution

KINDS = ("plain", "strided", "grouped", "depthwise", "wide")


def problems(count, seed=0):
    """That many convolutions: every kind, asymmetric kernels, strides and paddings among them."""
    draw = random.Random(seed)
    found = []
    while len(found) < count:
        kind = KINDS[len(found) % len(KINDS)]
        groups = {"grouped": draw.randint(2, 3), "depthwise": draw.randint(2, 5)}.get(kind, 1)
        each = 1 if kind == "depthwise" else draw.randint(1, 4)
        stride = (draw.randint(1, 3), draw.randint(1, 3)) if kind == "strided" else (1, 1)
        kernel = (draw.randint(1, 5), draw.randint(1, 5)) if draw.random() < 0.6 else (3, 3)
        longest = 40 if kind == "wide" else 12
        try:
            problem = Convolution(
                draw.randint(1, 3), groups * each, draw.randint(1, longest),
                draw.randint(1, longest), groups * draw.randint(1, 4), kernel, stride,
                (draw.randint(0, 5), draw.randint(0, 5)), groups,
            )  # fmt: skip
        except ValueError:  # the kernel is larger than the padded input
            continue
        found.append(problem)
    return found


def settings(problem):
    """What a method is told beside its tensors."""
    return {"stride": problem.stride, "padding": problem.padding, "groups": problem.groups}


def tensors(problem, dtype=torch.float64, seed=0):
    """x, weight and the gradient that arrives at the output."""
    random_numbers = torch.Generator().manual_seed(seed)
    return [
        torch.randn(shape, generator=random_numbers, dtype=torch.float64).to(dtype)
        for shape in (problem.x_shape, problem.weight_shape, problem.output_shape)
    ]


def expected(problem, x, weight, gradient):
    """torch's output, input gradient and weight gradient."""
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    output = conv2d(x, weight, **settings(problem))
    return [output.detach(), *torch.autograd.grad(output, (x, weight), gradient)]


def passes(method, problem, x, weight, gradient):
    """The same three by a method."""
    return [
        method.forward(x, weight, **settings(problem)),
        method.input_gradient(gradient, weight, problem.x_shape, **settings(problem)),
        method.weight_gradient(x, gradient, problem.weight_shape, **settings(problem)),
    ]


def network(seed=0):
    """Three layers: padded, strided and grouped, and of one pixel."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding="same"),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=4),
        nn.ReLU(),
        nn.Conv2d(8, 4, 1, bias=False),
    ).double()
