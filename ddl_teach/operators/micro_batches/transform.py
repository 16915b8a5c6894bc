"""A network whose convolutions run in micro-batches, and whose result stays the same.

The network is written down as a graph (torch.fx: Reed, DeVito, He, Ussery & Ansel 2022); each node
that is a convolution becomes one that does the same in pieces, reading the very same parameters.
Everything else stays, batch normalisation too: it still sees the whole batch. To cut the batch of
the whole network instead would change what it normalises with. What to look at: print the new
network's `graph`; its `state_dict` has the keys of the old one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.shape_prop import ShapeProp

from ddl_teach.operators.convolution.problem import DTYPES, Convolution
from ddl_teach.operators.micro_batches import operator

NUMBERS = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
OURS = torch.ops.ddl_teach.convolution
CALLS = {  # functions that convolve, and what their arguments are called
    torch.conv2d: ("x", "weight", "bias", *NUMBERS),
    **dict.fromkeys((OURS, OURS.default), ("x", "weight", "stride", "padding", "groups")),
}


class Untransformable(ValueError):
    """A network, or a convolution in it, that cannot run in micro-batches; the text says why."""


@dataclass(frozen=True)
class ConvolutionNode:
    """A convolution in a network's graph."""

    name: str  # of its node: the module's path with _ for the dots
    problem: Convolution
    dtype: torch.dtype


def trace(network: nn.Module) -> fx.GraphModule:
    """The network as a graph that shares its parameters and buffers."""
    modes = {module: module.training for module in network.modules()}
    try:
        graphs = [_traced_in(mode, network) for mode in (True, False)]
    finally:
        for module, mode in modes.items():
            module.training = mode
    if graphs[0].code != graphs[1].code:
        raise Untransformable(
            f"{type(network).__name__} takes another way while it trains than afterwards, and a "
            "graph has one way only. Its forward asks for `self.training`, as in "
            "F.dropout(x, training=self.training) or an `if`: use a module that knows by itself, "
            "such as nn.Dropout"
        )
    graphs[0].training = network.training
    return graphs[0]


def _traced_in(training: bool, network: nn.Module) -> fx.GraphModule:
    """The graph of a network that trains, or of one that does not."""
    for module in network.modules():
        module.training = training
    try:
        return fx.symbolic_trace(network)
    except Exception as error:  # whatever the network's own code raises on a stand-in
        raise Untransformable(
            f"{type(network).__name__} cannot be written down as a graph: {error}. Its forward "
            "may not look at the numbers in its tensors (an `if` on them, a loop as long as they "
            "say)"
        ) from error


def sites(
    network: nn.Module, *example: Tensor, keep: Collection[str] = ()
) -> list[ConvolutionNode]:
    """The convolutions that inputs like `example` meet, but for those named in `keep`.

    Nothing is computed: only shapes go through the network.
    """
    graph = trace(network)
    hollow = FakeTensorMode(allow_non_fake_inputs=True)
    ShapeProp(graph, fake_mode=hollow).propagate(*example)
    return [_site(node, call) for node, call in _convolutions(graph) if node.name not in keep]


def in_micro_batches(network: nn.Module, recipes: Mapping[str, str]) -> fx.GraphModule:
    """The network with these convolutions divided; the others, and the network itself, stay.

    `recipes` has what `operator.recipes_of` makes, by the name of a site.
    """
    module = trace(network)
    calls = {node.name: (node, call) for node, call in _convolutions(module)}
    if unknown := sorted(set(recipes) - set(calls)):
        raise Untransformable(
            f"no convolution is called {', '.join(unknown)}; there are {', '.join(calls)}"
        )
    for name, recipe in recipes.items():
        node, call = calls[name]
        numbers = _numbers(name, call)
        with module.graph.inserting_before(node):
            tensors = [
                module.graph.get_attr(tensor) if isinstance(tensor, str) else tensor
                for tensor in (call["x"], call["weight"], call.get("bias"))
            ]
        # The node itself is changed, so that it keeps its name and its place.
        node.op, node.target = "call_function", operator.convolve
        node.args, node.kwargs = (*tensors, *numbers, recipe), {}
    module.graph.lint()
    module.recompile()
    return module


def _convolutions(module: fx.GraphModule) -> list[tuple[fx.Node, dict[str, Any]]]:
    """The nodes that are convolutions, with their arguments by name.

    A weight or bias that is a text is a parameter's path.
    """
    found = []
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target in CALLS:
            names = CALLS[node.target]
            given = {"x" if name == "input" else name: it for name, it in node.kwargs.items()}
            found.append((node, dict(zip(names, node.args, strict=False)) | given))
        elif node.op == "call_module":
            layer = module.get_submodule(node.target)
            if isinstance(layer, nn.Conv2d):
                found.append((node, _call_of(layer, node)))
    return found


def _call_of(layer: nn.Conv2d, node: fx.Node) -> dict[str, Any]:
    hooks = layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks
    return {
        "x": node.args[0] if node.args else node.kwargs["input"],
        "weight": f"{node.target}.weight",
        "bias": None if layer.bias is None else f"{node.target}.bias",
        "padding_mode": layer.padding_mode,
        "hooks": len(hooks),
        "kernel": layer.kernel_size,
        **{name: getattr(layer, name) for name in NUMBERS},
    }


def _numbers(name: str, call: Mapping[str, Any]) -> tuple[Any, Any, int]:
    """Stride, padding and groups; a convolution that none of our methods does is refused."""

    def refuse(why: str) -> None:
        raise Untransformable(f"{name}: {why}. Leave it as it is with keep=[{name!r}]")

    stride, padding, dilation, groups = (call.get(key, least) for key, least in NUMBERS.items())
    if {*dilation} != {1} if isinstance(dilation, Sequence) else dilation != 1:
        refuse(f"{dilation=}, and none of the methods leaves gaps in its kernel")
    if call.get("padding_mode", "zeros") != "zeros":
        refuse(f"padding_mode={call['padding_mode']!r}, and the methods pad with zeros only")
    if call.get("hooks"):
        refuse("it has hooks, which nobody would call any more")
    if isinstance(padding, str):
        kernel = call.get("kernel")
        if padding == "same" and (kernel is None or not all(size % 2 for size in kernel)):
            refuse("padding='same' is not the same on both sides, or its kernel is not known")
        padding = tuple(size // 2 for size in kernel) if padding == "same" else 0
    return stride, padding, groups


def _site(node: fx.Node, call: Mapping[str, Any]) -> ConvolutionNode:
    stride, padding, groups = _numbers(node.name, call)
    x = call["x"].meta["tensor_meta"]
    weight = call["weight"]
    module = node.graph.owning_module
    shape = (
        module.get_parameter(weight).shape
        if isinstance(weight, str)
        else weight.meta["tensor_meta"].shape
    )
    if len(x.shape) != 4:
        raise Untransformable(
            f"{node.name}: its input has shape {tuple(x.shape)}, and without a batch there is "
            "nothing to divide: give an example of shape (batch, channels, height, width)"
        )
    if x.dtype not in DTYPES:
        raise Untransformable(f"{node.name}: its input is of {x.dtype}, which no method takes")
    problem = Convolution.of_shapes(x.shape, shape, stride, padding, groups)
    return ConvolutionNode(node.name, problem, x.dtype)
