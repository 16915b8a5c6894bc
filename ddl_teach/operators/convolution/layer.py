"""Convolutions of a network by a chosen method: a layer, and a switch for whole networks.

`use` turns every nn.Conv2d of a network into a Convolution2d where it stands: parameters, hooks
and names stay, so an optimizer or a checkpoint notices nothing; `use_torch` turns them back.
What to look at: the result stays the same within rounding, whatever the methods; only time and
memory change.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from ddl_teach.operators.convolution.methods import find
from ddl_teach.operators.convolution.operator import convolve
from ddl_teach.operators.convolution.problem import Convolution, border, refused_by_all


class Convolution2d(nn.Conv2d):
    """A convolution layer by a method of that name; all else is given as to nn.Conv2d."""

    def __init__(self, *sizes: Any, method: str = "winograd_4x4", **options: Any) -> None:
        super().__init__(*sizes, **options)
        self.method = method
        if reason := reason_against(self, method):
            raise ValueError(reason)

    def forward(self, x: Tensor) -> Tensor:
        padding = border(self.padding, self.kernel_size)
        walk: dict[str, Any] = {"stride": self.stride, "padding": padding, "groups": self.groups}
        return convolve(x, self.weight, self.bias, **walk, method=self.method)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, method={self.method!r}"


def use(
    network: nn.Module, method: str | Mapping[str, str], *, otherwise: str | None = None
) -> dict[str, str]:
    """Let every convolution of `network` use `method`, in place; returns the method of each layer.
    A mapping gives methods to the layers that it names. A layer that the method refuses uses
    `otherwise`; without one, nothing is changed and the error says which layers they are."""
    layers = convolutions(network)
    wanted = dict(method) if isinstance(method, Mapping) else dict.fromkeys(layers, method)
    if strangers := [name for name in wanted if name not in layers]:
        names = ", ".join(map(repr, strangers))
        known = f"which are no convolutions of this network; it has {', '.join(layers)}"
        raise ValueError(f"method names {names}, {known}")
    refused = [
        name for name, candidate in wanted.items() if reason_against(layers[name], candidate)
    ]
    wanted |= dict.fromkeys(refused, otherwise) if otherwise else {}
    reasons = {name: reason_against(layers[name], wanted[name]) for name in refused}
    if lines := [f"{name}: {reason}" for name, reason in reasons.items() if reason]:
        advice = "these layers cannot use it; give each its own method, or all one by otherwise="
        raise ValueError("\n".join([f"{advice}:", *lines]))
    for name, candidate in wanted.items():
        layers[name].__class__ = Convolution2d
        layers[name].method = candidate
    return wanted


def use_torch(network: nn.Module) -> None:
    """Turn every Convolution2d of `network` back into torch's nn.Conv2d, in place."""
    for layer in convolutions(network).values():
        if isinstance(layer, Convolution2d):
            del layer.method
            layer.__class__ = nn.Conv2d


def convolutions(network: nn.Module) -> dict[str, nn.Conv2d]:
    """The layers that are torch's or ours, by name; not a subclass with a forward pass of its
    own."""
    kinds = nn.Conv2d, Convolution2d
    return {name: layer for name, layer in network.named_modules() if type(layer) in kinds}


def reason_against(layer: nn.Conv2d, method: str) -> str:
    """Why the layer cannot be computed by the method, or nothing."""
    kernel = layer.kernel_size
    reason = refused_by_all(layer.dilation, layer.padding_mode, layer.padding, kernel)
    if reason or method == "auto":
        return reason
    x, padding = (1, layer.in_channels, *kernel), border(layer.padding, kernel)
    sizes = Convolution.of_shapes(x, layer.weight.shape, layer.stride, padding, layer.groups)
    return find(method).refusal(sizes, layer.weight.dtype)
