"""The distinct convolutions of a network, as it runs them: collected, not typed from a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import nn

from ddl_teach.operators.convolution.problem import Convolution


def convolutions(network: nn.Module, shape: Sequence[int]) -> dict[Convolution, int]:
    """Each distinct convolution that an input of this shape passes, and how often."""
    found: dict[Convolution, int] = {}

    def collect(layer: nn.Conv2d, inputs: tuple[torch.Tensor, ...]) -> None:
        problem = Convolution.of_shapes(
            inputs[0].shape, layer.weight.shape, layer.stride, layer.padding, layer.groups
        )
        found[problem] = found.get(problem, 0) + 1

    hooks = [
        layer.register_forward_pre_hook(collect)
        for layer in network.modules()
        if isinstance(layer, nn.Conv2d)
    ]
    # On the device "meta" tensors have shapes and no numbers: nothing is computed.
    network.eval().to("meta")(torch.empty(*shape, device="meta"))
    for hook in hooks:
        hook.remove()
    return found


def shared(
    networks: Mapping[str, nn.Module], shape: Sequence[int]
) -> dict[Convolution, list[str]]:
    """The distinct convolutions of several networks, each with who has it and how often."""
    layers: dict[Convolution, list[str]] = {}
    for name, network in networks.items():
        for problem, times in convolutions(network, shape).items():
            layers.setdefault(problem, []).append(f"{name} {times}x" if times > 1 else name)
    return layers
