"""Activation checkpointing: forget what the forward pass computed, compute it again when needed.

`run(layers, x, plan)` computes what `layers(x)` does, with the same gradients, by a plan of
`theory.checkpointing`: layers named in it keep their activations, lists of layers their input
only, and run again in the backward pass, by their own inner plan. With sqrt(L) stretches 2 sqrt(L)
activations are enough, for one more forward pass. Chen, Xu, Zhang & Guestrin, "Training deep nets
with sublinear memory cost", 2016. What to look at: dropout draws the same numbers again.
"""

from typing import Any

import torch
from torch import Tensor, nn

from ddl_teach.networks.memory.measured import Activations, storage_bytes
from ddl_teach.theory.checkpointing import Chain, Plan, check_plan, layers_of


def run(layers: nn.Sequential, x: Tensor, plan: Plan) -> Tensor:
    """The output of the layers, with less kept for the backward pass."""
    check_plan(plan, len(layers))
    return _follow(layers, x, plan)


def _follow(layers: nn.Sequential, x: Tensor, plan: Plan) -> Tensor:
    for step in plan:
        if isinstance(step, int):
            x = layers[step](x)
        elif step:
            stretch = nn.ModuleList(layers[layer] for layer in layers_of(step))
            # The parameters are passed so that autograd knows which tensors need a gradient.
            trained = [p for p in stretch.parameters() if p.requires_grad]
            x = _Forgotten.apply(layers, step, stretch, x, *trained)
    return x


class _Forgotten(torch.autograd.Function):
    """A stretch of layers of which only the input is kept."""

    @staticmethod
    def forward(
        ctx: Any, layers: nn.Sequential, plan: Plan, stretch: nn.ModuleList, x: Tensor, *_: Tensor
    ) -> Tensor:
        ctx.layers, ctx.plan, ctx.stretch = layers, plan, stretch
        ctx.random = torch.get_rng_state()
        ctx.save_for_backward(x)
        for layer in stretch:
            x = layer(x)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_(x.is_floating_point())
        before = [buffer.clone() for buffer in ctx.stretch.buffers()]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.random)
            output = _follow(ctx.layers, x, ctx.plan)
        wanted = [t for t in (x, *ctx.stretch.parameters()) if t.requires_grad]
        gradients = torch.autograd.grad(output, wanted, gradient, allow_unused=True)
        for buffer, old in zip(ctx.stretch.buffers(), before, strict=True):
            buffer.copy_(old)
        of_x, of_parameters = (
            (gradients[0], gradients[1:]) if x.requires_grad else (None, gradients)
        )
        return (None, None, None, of_x, *of_parameters)


def measure(layers: nn.Sequential, x: Tensor) -> Chain:
    """What each layer holds for its backward pass, in bytes, and one second for each: exact where
    a layer keeps its input or the one before its output; else a little too much."""
    outputs, inside = [], []
    for layer in layers:
        x = x.detach().requires_grad_(x.is_floating_point())
        with Activations([*layers.parameters(), *layers.buffers(), x]) as saved:
            y = layer(x)
        outputs.append(storage_bytes([y]))
        inside.append(saved.held - (outputs[-1] if saved.holds(y) else 0))
        x = y
    return Chain((1.0,) * len(outputs), tuple(outputs), tuple(inside))


def cost(layers: nn.Sequential, x: Tensor, plan: Plan) -> tuple[int, int]:
    """The bytes held at most, and the layers computed forward, measured in a step by this plan."""
    computed: list[nn.Module] = []
    hooks = [layer.register_forward_hook(lambda ran, *_: computed.append(ran)) for layer in layers]
    with Activations([*layers.parameters(), *layers.buffers(), x]) as saved:
        run(layers, x, plan).sum().backward()
    for hook in hooks:
        hook.remove()
    return saved.most, len(computed)
