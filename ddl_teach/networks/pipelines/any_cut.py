"""Any module as a row of stretches, for a pipeline: cut wherever a single activation passes.

torch.export writes down all operations of a module. A cut is possible behind an operation whose
result is all that later ones need of earlier ones (weights aside: each stretch has its own). So a
residual connection is never cut, and blocks that are called one after the other always can be.
Sizes of a batch are asked anew in each stretch, of what comes into it: its first axis.
What to look at: weights keep the names that the module gives them, so the twin can be compared.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, fx, nn

SIZE = torch.ops.aten.sym_size.int


class Stretches(nn.Sequential):
    """Parts of one module, in order; their parameters have the module's names for them."""

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Parameter]]:
        return _without_first(super().named_parameters(*args, **kwargs))

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
        return _without_first(super().named_buffers(*args, **kwargs))


def _without_first(named: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    return ((name.partition(".")[2], tensor) for name, tensor in named)


def stretches(module: nn.Module, inputs: Tensor) -> nn.Sequential:
    """The module as finely cut as it can be; `inputs` is a batch, of which the shape counts. A
    sequence is its own cut."""
    if isinstance(module, nn.Sequential):
        return module
    rows = {0: torch.export.Dim.DYNAMIC}
    try:
        program: Any = torch.export.export(module, (inputs,), dynamic_shapes=(rows,)).module()
    except Exception as error:
        raise ValueError(
            "torch.export cannot write this module's operations down, so it cannot be cut: put "
            "its layers into an nn.Sequential. Its reason begins with: "
            f"{str(error).strip().splitlines()[0]}"
        ) from error
    # A call of a module that nothing uses is a guard of the export, and computes nothing.
    nodes = [node for node in program.graph.nodes if node.op != "call_module" or node.users]
    return Stretches(*(_stretch(program, *part) for part in _parts(nodes)))


def _parts(nodes: list[fx.Node]) -> Iterator[tuple[fx.Node, list[fx.Node], fx.Node]]:
    """What comes into each stretch, its operations, and what goes out."""
    [entry] = [node for node in nodes if node.op == "placeholder"]
    output = nodes[-1]
    [result] = output.all_input_nodes
    last_use = {
        node: max((nodes.index(user) for user in node.users if user in nodes), default=0)
        for node in nodes
    }
    begin, own = entry, []
    for place, node in enumerate(nodes):
        if node.op != "call_function":
            continue
        own.append(node)
        alive = [
            other
            for other in nodes[: place + 1]
            if last_use[other] > place and other.op != "get_attr" and other.target is not SIZE
        ]
        value = node.meta.get("val")
        can_travel = isinstance(value, Tensor) and value.is_floating_point() and value.dim() > 0
        if node is result or (alive == [node] and can_travel):
            yield begin, own, node
            begin, own = node, []


def _stretch(program: fx.GraphModule, entry: fx.Node, own: list[fx.Node], result: fx.Node) -> Any:
    """A module of these operations."""
    graph = fx.Graph()
    copies = {entry: graph.placeholder("x")}

    def copy(node: fx.Node) -> fx.Node:
        if node not in copies:  # a weight, or a size that an earlier stretch has asked for
            copies[node] = graph.node_copy(node, lambda _: copies[entry])
        return copies[node]

    for node in own:
        copies[node] = graph.node_copy(node, copy)
    graph.output(copies[result])
    return fx.GraphModule(program, graph)
