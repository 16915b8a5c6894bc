"""Training in half precision with weights kept in single precision.

The network computes with float16 weights and activations. An update of less than 2^-11 of a weight
would be rounded away, so the true weights, the *masters*, are float32; after each step the network
gets a rounded copy. 6 bytes a weight instead of 4. Micikevicius et al., ICLR 2018.

    forward, loss * scale, backward   in float16
    gradients / scale                 in float32; a step with an inf or nan in it is skipped
    masters -= rate * gradients       in float32
    weights = masters                 rounded to float16
"""

import torch
from torch import Tensor, nn

from ddl_teach.operators.precision.loss_scaling import LossScale, unscale


def masters_of(network: nn.Module) -> list[Tensor]:
    """Float32 copies of the parameters of a network in float16 or bfloat16."""
    parameters = list(network.parameters())
    wrong = {parameter.dtype for parameter in parameters} - {torch.float16, torch.bfloat16}
    if wrong or not parameters:
        types = ", ".join(map(str, wrong)) if wrong else "none"
        advice = "call network.half() or network.bfloat16() first"
        raise TypeError(f"parameters must be float16 or bfloat16 and are {types}; {advice}")
    return [parameter.detach().to(torch.float32) for parameter in parameters]


def step(
    network: nn.Module, masters: list[Tensor], loss: Tensor, scale: LossScale, rate: float
) -> LossScale:
    """One step of gradient descent, in place; returns the scale for the next one. The loss must be
    float32: in float16 a factor of 65,536 would itself be infinite."""
    if loss.dtype != torch.float32 or loss.ndim:
        given = f"{loss.dtype} of shape {tuple(loss.shape)}"
        raise TypeError(f"loss: one number of float32 is needed, not {given}: outputs.float()")
    parameters = list(network.parameters())
    scaled = torch.autograd.grad(loss * scale.scale, parameters)
    gradients, finite = unscale(scaled, scale.scale)
    if finite:
        with torch.no_grad():
            for parameter, master, gradient in zip(parameters, masters, gradients, strict=True):
                master -= rate * gradient
                parameter.copy_(master)
    return scale.after(finite)
