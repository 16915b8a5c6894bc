"""A network whose linear layers multiply numbers of few bits, emulated.

    y = Q(x) Q(W)^T,    dx = Q'(dy) Q(W^T)^T,    dW = Q'(dy^T) Q(x^T)^T

All three products take rounded factors. Each factor lies so that the sum runs over its last axis:
there blocks of a row have one scale. Weights, gradients and sums stay in float32: this shows what
rounding does to a training, and not how fast it is. Micikevicius et al., 2022. What to look at:
gradients have another range than activations, so they have a quantiser of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ddl_teach.operators.precision.eight_bits import Quantiser


class RoundedProduct(torch.autograd.Function):
    """The product of (rows, inputs) and (outputs, inputs), each rounded, and its gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, use: tuple[Quantiser, ...]) -> Tensor:
        """Rounded factors, exact sum."""
        ctx.save_for_backward(x, weight)
        ctx.use = use
        product: Tensor = use[0](x) @ use[1](weight).T
        return product

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        """Both products with the rounded gradient."""
        (x, weight), (inputs, weights, backward) = ctx.saved_tensors, ctx.use
        [gradient] = gradients
        return (
            backward(gradient) @ weights(weight.T).T,
            backward(gradient.T) @ inputs(x.T).T,
            None,
        )


def emulate(
    network: nn.Module,
    forward: Callable[[], Quantiser],
    backward: Callable[[], Quantiser],
    but: tuple[str, ...] = ("head",),
) -> nn.Module:
    """Let each linear layer, but those named, multiply what its own quantisers return. Changes
    the network; a layer makes two of `forward`, for inputs and weights, and one of `backward`."""
    for name, layer in network.named_modules():
        if isinstance(layer, nn.Linear) and name not in but:
            use = forward(), forward(), backward()
            layer.forward = partial(_forward, layer, use)  # type: ignore[method-assign]
    return network


def _forward(layer: nn.Linear, use: tuple[Quantiser, ...], x: Tensor) -> Tensor:
    product: Callable[..., Tensor] = RoundedProduct.apply
    shaped = product(x.flatten(0, -2), layer.weight, use).reshape(*x.shape[:-1], -1)
    return shaped if layer.bias is None else shaped + layer.bias
