"""A network that convolves as it is told: a layer with a method, a switch for whole networks.

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
from ddl_teach.operators.convolution.problem import Convolution, Pair


class Convolution2d(nn.Conv2d):
    """A convolution layer by a method of that name; all else is given as to nn.Conv2d."""

    def __init__(
        self, *sizes: Any, method: str = "winograd_4x4", limit: int | None = None, **options: Any
    ) -> None:
        super().__init__(*sizes, **options)
        self.method, self.limit = method, limit
        if reason := reason_against(self, method):
            raise ValueError(reason)

    def forward(self, x: Tensor) -> Tensor:
        return convolve(
            x,
            self.weight,
            self.bias,
            stride=self.stride,
            padding=border(self),
            groups=self.groups,
            method=self.method,
            limit=self.limit,
        )

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, method={self.method!r}"


def use(
    network: nn.Module,
    method: str | Mapping[str, str],
    *,
    otherwise: str | None = None,
    limit: int | None = None,
) -> dict[str, str]:
    """Let every convolution of `network` use `method`, in place; returns the method of each layer.

    A mapping gives methods to the layers that it names and leaves the others as they are. A layer
    that the method refuses uses `otherwise`; without one, nothing is changed and the error says
    which layers they are.
    """
    layers = convolutions(network)
    if isinstance(method, Mapping):
        if strangers := [name for name in method if name not in layers]:
            raise ValueError(
                f"method names {', '.join(map(repr, strangers))}, which are no convolutions of "
                f"this network; it has {', '.join(layers)}"
            )
        wanted = dict(method)
    else:
        wanted = dict.fromkeys(layers, method)
    reasons = {}
    for name, one in wanted.items():
        if reason_against(layers[name], one) and otherwise:
            wanted[name] = otherwise
        if reason := reason_against(layers[name], wanted[name]):
            reasons[name] = f"{name}: {reason}"
    if reasons:
        raise ValueError(
            "these layers cannot; give them a method of their own, or one for all with "
            "otherwise=:\n" + "\n".join(reasons.values())
        )
    for name, one in wanted.items():
        layers[name].__class__ = Convolution2d
        layers[name].method, layers[name].limit = one, limit
    return wanted


def use_torch(network: nn.Module) -> None:
    """Turn every Convolution2d of `network` back into torch's nn.Conv2d, in place."""
    for layer in convolutions(network).values():
        if isinstance(layer, Convolution2d):
            del layer.method, layer.limit
            layer.__class__ = nn.Conv2d


def convolutions(network: nn.Module) -> dict[str, nn.Conv2d]:
    """Those layers that are torch's or ours; a subclass with a forward pass of its own is not."""
    return {
        name: layer
        for name, layer in network.named_modules()
        if type(layer) in (nn.Conv2d, Convolution2d)
    }


def reason_against(layer: nn.Conv2d, method: str) -> str:
    """Why the layer cannot be computed by the method, or nothing."""
    if layer.dilation != (1, 1):
        return f"dilation={layer.dilation}: no method here spreads its kernel; it must be 1"
    if layer.padding_mode != "zeros":
        return f"padding_mode={layer.padding_mode!r}: the methods pad with zeros only"
    if layer.padding == "same" and any(size % 2 == 0 for size in layer.kernel_size):
        return "padding='same' of an even kernel is longer on one side: pad before the layer"
    x = (1, layer.in_channels, *layer.kernel_size)
    problem = Convolution.of_shapes(
        x, layer.weight.shape, layer.stride, border(layer), layer.groups
    )
    return "" if method == "auto" else find(method).refusal(problem, layer.weight.dtype)


def border(layer: nn.Conv2d) -> Pair:
    """The layer's padding in numbers, where torch allows the words "valid" and "same" too."""
    words = {"valid": (0, 0), "same": tuple(size // 2 for size in layer.kernel_size)}
    return words[layer.padding] if isinstance(layer.padding, str) else tuple(layer.padding)
