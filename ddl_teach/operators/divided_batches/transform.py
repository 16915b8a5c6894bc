"""A network whose convolutions run in pieces, and whose result stays the same.

The network is written down as a graph (torch.fx: Reed, DeVito, He, Ussery & Ansel 2022); each node
that is a convolution becomes one that does the same in pieces, with the same parameters. All else
stays: batch normalisation still sees the whole batch. What to look at: the new network's `graph`;
its `state_dict` has the keys of the old one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.shape_prop import ShapeProp

from ddl_teach.operators.convolution.problem import DTYPES, Convolution, border, refused_by_all
from ddl_teach.operators.divided_batches import divided

# Where torch keeps what is called before and after a layer; it has no public way to ask.
HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks"
NUMBERS = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
OURS = torch.ops.ddl_teach.convolution
CALLS = {  # functions that convolve, and what their arguments are called
    torch.conv2d: ("x", "weight", "bias", *NUMBERS),
    **dict.fromkeys((OURS, OURS.default), ("x", "weight", "stride", "padding", "groups")),
}


class Untransformable(ValueError):
    """A network, or a convolution in it, that cannot run in pieces; the text says why."""


@dataclass(frozen=True)
class ConvolutionNode:
    """A convolution in a network's graph."""

    name: str  # of its node: the module's path with _ for the dots
    problem: Convolution
    dtype: torch.dtype


def trace(network: nn.Module) -> fx.GraphModule:
    """The network as a graph that shares its parameters and buffers."""
    modes, graphs = {module: module.training for module in network.modules()}, []
    try:
        for training in (True, False):
            for module in modes:
                module.training = training
            graphs.append(fx.symbolic_trace(network))
    except Exception as error:  # whatever the network's own code raises on a stand-in
        name, advice = type(network).__name__, "Its forward must not read numbers in its tensors"
        raise Untransformable(
            f"{name} cannot be written down as a graph: {error}. {advice}"
        ) from error
    finally:
        for module, mode in modes.items():
            module.training = mode
    if graphs[0].code != graphs[1].code:
        raise Untransformable(
            f"{type(network).__name__} computes something else in training than afterwards: its "
            "forward reads `self.training`. Use a module that knows it, such as nn.Dropout"
        )
    graphs[0].training = network.training
    return graphs[0]


def sites(
    network: nn.Module, *example: Tensor, keep: Collection[str] = ()
) -> list[ConvolutionNode]:
    """The convolutions that inputs like `example` meet, but for those named in `keep`; only shapes
    go through the network."""
    graph = trace(network)
    hollow = FakeTensorMode(allow_non_fake_inputs=True)
    ShapeProp(graph, fake_mode=hollow).propagate(*example)
    return [_site(node, call) for node, call in _convolutions(graph) if node.name not in keep]


def in_divided_batches(network: nn.Module, recipes: Mapping[str, str]) -> fx.GraphModule:
    """The network with these convolutions divided; `recipes` has what `divided.recipes_of` makes,
    by the name of a site."""
    module = trace(network)
    calls = {node.name: (node, call) for node, call in _convolutions(module)}
    if unknown := sorted(set(recipes) - set(calls)):
        known = f"there are {', '.join(calls)}"
        raise Untransformable(f"no convolution is called {', '.join(unknown)}; {known}")
    for name, recipe in recipes.items():
        node, call = calls[name]
        numbers = _numbers(name, call)
        with module.graph.inserting_before(node):
            tensors = [
                module.graph.get_attr(tensor) if isinstance(tensor, str) else tensor
                for tensor in (call["x"], call["weight"], call.get("bias"))
            ]
        # The node itself is changed, so that it keeps its name and its place.
        node.op, node.target = "call_function", divided.convolve
        node.args, node.kwargs = (*tensors, *numbers, recipe), {}
    module.graph.lint()
    module.recompile()
    return module


def _convolutions(module: fx.GraphModule) -> list[tuple[fx.Node, dict[str, Any]]]:
    """The nodes that are convolutions, with their arguments by name; parameters as paths."""
    convolutions = []
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target in CALLS:
            names = CALLS[node.target]
            given = {
                "x" if name == "input" else name: value for name, value in node.kwargs.items()
            }
            convolutions.append((node, dict(zip(names, node.args, strict=False)) | given))
        elif node.op == "call_module":
            layer = module.get_submodule(node.target)
            if isinstance(layer, nn.Conv2d):
                call = {
                    "x": node.args[0] if node.args else node.kwargs["input"],
                    "weight": f"{node.target}.weight",
                    "bias": None if layer.bias is None else f"{node.target}.bias",
                    "padding_mode": layer.padding_mode,
                    "hooks": sum(len(getattr(layer, name)) for name in HOOKS),
                    "kernel": layer.kernel_size,
                }
                call |= {name: getattr(layer, name) for name in NUMBERS}
                convolutions.append((node, call))
    return convolutions


def _numbers(name: str, call: Mapping[str, Any]) -> tuple[Any, Any, int]:
    """Stride, padding and groups; a convolution that none of our methods does is refused."""

    stride, padding, dilation, groups = (call.get(key, least) for key, least in NUMBERS.items())
    mode, kernel = call.get("padding_mode", "zeros"), call.get("kernel")
    reason = refused_by_all(dilation, mode, padding, kernel)
    if call.get("hooks"):
        reason = "it has hooks, which would not be called any more"
    if reason:
        raise Untransformable(f"{name}: {reason}. Leave it as it is with keep=[{name!r}]")
    return stride, border(padding, kernel), groups


def _site(node: fx.Node, call: Mapping[str, Any]) -> ConvolutionNode:
    stride, padding, groups = _numbers(node.name, call)
    x, weight = call["x"].meta["tensor_meta"], call["weight"]
    if isinstance(weight, str):
        shape = node.graph.owning_module.get_parameter(weight).shape
    else:
        shape = weight.meta["tensor_meta"].shape
    if len(x.shape) != 4:
        nothing = "and without a batch there is nothing to divide: give four axes"
        raise Untransformable(f"{node.name}: its input has shape {tuple(x.shape)}, {nothing}")
    if x.dtype not in DTYPES:
        raise Untransformable(f"{node.name}: its input is of {x.dtype}, which no method takes")
    problem = Convolution.of_shapes(x.shape, shape, stride, padding, groups)
    return ConvolutionNode(node.name, problem, x.dtype)
