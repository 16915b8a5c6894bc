"""From a module to its graph, without computing anything.

``torch.export`` runs the module's Python once with tensors that have a shape and no numbers, and
writes down each operation. Where it refuses (it wants outputs it can name, for example), torch.fx
records the same run without asking for more. Both stop where the numbers decide what happens next:
``if x.sum() > 0`` has two graphs, and shapes alone do not say which. What to look at: the error
names that line.
"""

import contextlib
import copy
import io
import logging
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import fx, nn
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.operator_schemas import get_signature_for_torch_op
from torch.fx.traceback import get_current_meta, preserve_node_meta
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree

from ddl_measure.analysis.not_traceable import NotTraceable, story


@dataclass(frozen=True)
class Captured:
    """A graph of aten operations, what goes into it, and what of that the module holds.

    `parameters` are their names by storage; `held` are the storages of the buffers too.
    """

    graph: fx.GraphModule
    inputs: tuple[Any, ...]
    parameters: Mapping[int, str]
    held: frozenset[int]
    mode: FakeTensorMode
    network: str


def capture(
    module: nn.Module,
    inputs: tuple[Any, ...],
    keywords: Mapping[str, Any],
    counted: Collection[str] = (),
) -> Captured:
    """The graph of ``module(*inputs, **keywords)`` for these shapes.

    Operations whose names are not `counted` are taken apart where torch knows how.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    hollow = _hollow(module, mode)
    inputs, keywords = pytree.tree_map_only(
        torch.Tensor, lambda tensor: _example(tensor, hollow, mode), (inputs, dict(keywords))
    )
    with torch.enable_grad(), _quiet():
        try:
            return _exported(hollow, inputs, keywords, mode, counted)
        except Exception as refusal:
            try:
                return _recorded(_hollow(module, mode), inputs, keywords, mode)
            except Exception as error:
                raise NotTraceable(story(type(module).__name__, error, refusal)) from error


def storage_of(tensor: torch.Tensor) -> int:
    """What tensors that share memory have in common."""
    return int(StorageWeakRef(tensor.untyped_storage()).cdata)


@cache
def schema_of(operation: OpOverload) -> Any:
    """The name of an operation, and its arguments with their defaults."""
    _, [schema] = get_signature_for_torch_op(operation, return_schemas=True)
    return schema


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """torch describes at length what stops a graph; the error here says it in three lines."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    nowhere = io.StringIO()
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            yield
    finally:
        logging.disable(before)


def _hollow(module: nn.Module, mode: FakeTensorMode) -> nn.Module:
    """A copy whose tensors have shapes only: nothing is copied, and the module stays as it is."""
    replaced: dict[int, Any] = {}
    for part in module.modules():
        weights, buffers = part.parameters(recurse=False), part.buffers(recurse=False)
        for tensor in (*weights, *buffers, *vars(part).values()):
            if isinstance(tensor, torch.Tensor) and not isinstance(tensor, FakeTensor):
                replaced.setdefault(id(tensor), mode.from_tensor(tensor))
    return copy.deepcopy(module, replaced)


def _example(tensor: torch.Tensor, module: nn.Module, mode: FakeTensorMode) -> torch.Tensor:
    """The same shape where the module's weights are."""
    weights = next((weight.device for weight in module.parameters()), tensor.device)
    fake = mode.from_tensor(tensor.detach())
    with mode:
        moved = fake if fake.device == weights else torch.empty_like(fake, device=weights)
    return moved.requires_grad_(tensor.requires_grad)


def _exported(
    module: nn.Module,
    inputs: tuple[Any, ...],
    keywords: dict[str, Any],
    mode: FakeTensorMode,
    counted: Collection[str],
) -> Captured:
    program = torch.export.export(module, inputs, keywords, strict=False)
    if apart := _taken_apart(program.graph, counted):
        program = program.run_decompositions(apart)
    signature = program.graph_signature
    names = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    held = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
        **program.constants,
    }
    given = iter(pytree.tree_leaves((inputs, keywords)))
    arguments = [
        held[names[node.name]] if node.name in names else next(given)
        for node in program.graph.nodes
        if node.op == "placeholder"
    ]
    return _captured(program.graph_module, arguments, module, mode)


def _recorded(
    module: nn.Module, inputs: tuple[Any, ...], keywords: dict[str, Any], mode: FakeTensorMode
) -> Captured:
    leaves, structure = pytree.tree_flatten((inputs, keywords))

    def run(*values: Any) -> list[torch.Tensor]:
        arguments, named = pytree.tree_unflatten(values, structure)
        made = pytree.tree_leaves(module(*arguments, **named))
        return [value for value in made if isinstance(value, torch.Tensor)]

    for name, part in module.named_modules():
        part.register_forward_pre_hook(partial(_enter, name))
        part.register_forward_hook(_leave, always_call=True)
    with mode, preserve_node_meta():
        record = make_fx(run, tracing_mode="fake", pre_dispatch=True, _allow_non_fake_inputs=True)
        graph = record(*leaves)
    return _captured(graph, leaves, module, mode)


def _enter(name: str, module: nn.Module, _: Any) -> None:
    """What is recorded from here on belongs to this module; those around it are kept below."""
    notes = get_current_meta()
    notes["nn_module_stack"] = {**notes.get("nn_module_stack", {}), name: (name, type(module))}


def _leave(*_: Any) -> None:
    stack = get_current_meta()["nn_module_stack"]
    stack.pop(next(reversed(stack)))


def _taken_apart(graph: fx.Graph, counted: Collection[str]) -> dict[Any, Any]:
    """How torch composes those operations of a graph that nobody counts as they are."""
    known = torch.export.default_decompositions()
    targets = {node.target for node in graph.nodes if isinstance(node.target, OpOverload)}
    return {
        target: known[target]
        for target in targets
        if target in known and schema_of(target).name.removesuffix("_") not in counted
    }


def _captured(
    graph: fx.GraphModule, inputs: list[Any], module: nn.Module, mode: FakeTensorMode
) -> Captured:
    names = {storage_of(weights): name for name, weights in module.named_parameters()}
    held = frozenset([*names, *map(storage_of, module.buffers())])
    return Captured(graph, tuple(inputs), names, held, mode, type(module).__name__)
