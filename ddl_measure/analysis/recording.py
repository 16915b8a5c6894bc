"""Run a module on shapes, and write down of each operation what it read, made and kept.

torch.fx runs the module's Python once with tensors that have a shape and no numbers, and writes
down each operation. It stops where the numbers decide what happens next: ``if x.sum() > 0`` has
two graphs, and shapes alone do not say which. Then the graph runs through torch's own autograd, so
what backward must keep is not modelled but observed: every tensor that autograd saves passes a
hook. A tensor saved twice, or whose view is saved too, is kept once. What to look at: the error
names the line of the module's own code at which its graph comes to an end.
"""

import contextlib
import copy
import inspect
import io
import linecache
import logging
import os
import re
import traceback
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import fx, nn
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.autograd.graph import saved_tensors_hooks
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.fx.operator_schemas import get_signature_for_torch_op
from torch.fx.traceback import get_current_meta, preserve_node_meta
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree

import ddl_teach
from ddl_measure.analysis.records import Call, Value

DATA_DEPENDENT = (
    GuardOnDataDependentSymNode,
    DataDependentOutputException,
    DynamicOutputShapeException,
)
OUR_TORCH = os.path.join(os.path.dirname(ddl_teach.__file__), "torch_backend")  # acts as torch
LIBRARIES = (os.path.dirname(torch.__file__), os.path.dirname(os.__file__), OUR_TORCH)
ADVICE = (
    "What happens next depends on numbers, and there are none here, only shapes. Analyse the "
    "parts before and after that line, or pass the choice in as an argument."
)


class NotTraceable(RuntimeError):
    """A module whose graph does not follow from the shapes of its inputs; names the line."""


@dataclass(frozen=True)
class Recorded:
    """One operation: its call, its module, the operations that it needs, what backward needs."""

    name: str
    layer: tuple[str, str]
    line: str
    call: Call
    changes: bool  # whether it writes into one of its arguments
    saved: Mapping[int, int]  # bytes that backward keeps, by storage

    @property
    def needs(self) -> set[int]:
        return {value.maker for value in self.call.inputs if value.maker >= 0}

    @property
    def is_view(self) -> bool:
        """Whether it only looks at its argument in another way."""
        seen = {value.storage for value in self.call.inputs}
        made = {value.storage for value in self.call.outputs}
        return bool(made) and made <= seen and not self.changes


@dataclass(frozen=True)
class Recording:
    """All operations in the order in which they run, and which of them make the outputs.

    `held` are the storages of the module's parameters and buffers.
    """

    operations: tuple[Recorded, ...]
    results: frozenset[int]
    held: frozenset[int]


def record(
    module: nn.Module,
    inputs: tuple[Any, ...],
    keywords: Mapping[str, Any],
    counted: Collection[str] = (),
) -> Recording:
    """What happens in one forward pass ``module(*inputs, **keywords)`` with such shapes.

    Operations whose names are not `counted` are taken apart where torch knows how.
    """
    network, mode = type(module).__name__, FakeTensorMode(allow_non_fake_inputs=True)
    hollow = _hollow(module, mode)
    inputs, keywords = pytree.tree_map_only(
        torch.Tensor, lambda tensor: _example(tensor, hollow, mode), (inputs, dict(keywords))
    )
    with torch.enable_grad(), _quiet():
        try:
            inspect.signature(module.forward).bind(*inputs, **keywords)
            with mode, preserve_node_meta():
                graph, leaves = _captured(hollow, inputs, keywords, counted)
        except Exception as error:
            raise NotTraceable(_story(network, error)) from error
    parameters = {storage_of(weights): name for name, weights in hollow.named_parameters()}
    recorder = Recorder(graph, parameters)
    try:
        with mode, torch.enable_grad():
            outputs = recorder.run(*leaves)
    except (*DATA_DEPENDENT, NotImplementedError) as error:
        lines = own_lines(recorder.node)
        place = at(*lines[-1]) if lines else f": the graph ends at {recorder.node.target}"
        raise NotTraceable(f"{network}{place}\n{_reason(error)}") from error
    made = map(storage_of, _tensors(outputs))
    results = frozenset(recorder.writer[storage] for storage in made if storage in recorder.writer)
    if not results:  # they are inside an object that torch can't look into
        read = {maker for operation in recorder.operations for maker in operation.needs}
        results = frozenset(recorder.writer.values()) - read
    held = frozenset([*parameters, *map(storage_of, hollow.buffers())])
    return Recording(tuple(recorder.operations), results, held)


def _captured(
    module: nn.Module,
    inputs: tuple[Any, ...],
    keywords: Mapping[str, Any],
    counted: Collection[str],
) -> tuple[fx.GraphModule, list[Any]]:
    """The graph of aten operations, and what goes into it."""
    leaves, structure = pytree.tree_flatten((inputs, keywords))

    def run(*values: Any) -> list[torch.Tensor]:
        arguments, named = pytree.tree_unflatten(values, structure)
        return _tensors(module(*arguments, **named))

    for name, part in module.named_modules():
        part.register_forward_pre_hook(partial(_enter, name))
        part.register_forward_hook(_leave, always_call=True)
    apart = {
        operation: how
        for operation, how in torch.export.default_decompositions().items()
        if operation.name().partition(".")[0].removesuffix("_") not in counted
    }
    capture = make_fx(
        run, apart, "fake", _allow_non_fake_inputs=True, pre_dispatch=True,
        record_stack_traces=True,
    )  # fmt: skip
    return capture(*leaves), leaves


def _tensors(values: Any) -> list[torch.Tensor]:
    """All tensors in nested lists and the like."""
    return [value for value in pytree.tree_leaves(values) if isinstance(value, torch.Tensor)]


class Recorder(fx.Interpreter):
    """Runs a graph node by node and keeps a record of each."""

    def __init__(self, graph: fx.GraphModule, parameters: Mapping[int, str]) -> None:
        super().__init__(graph, garbage_collect_values=False)
        self.parameters = parameters  # their names, by storage
        self.operations: list[Recorded] = []
        # Which operation wrote last into a storage: one that reads from it waits for that one.
        self.writer: dict[int, int] = {}
        # As long as a tensor is held, its storage's number stands for no other.
        self.alive: list[Any] = []

    def run_node(self, node: fx.Node) -> Any:
        """Run a node as the interpreter does, and record it if it is an operation."""
        self.node = node
        if node.op != "call_function" or not isinstance(
            node.target, (OpOverload, HigherOrderOperator)
        ):
            return super().run_node(node)
        if isinstance(node.target, HigherOrderOperator):
            raise NotImplementedError(f"{node.target} holds graphs of its own")
        saved: dict[int, int] = {}

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            self.alive.append(tensor)
            saved[storage_of(tensor)] = tensor.untyped_storage().nbytes()
            return tensor

        arguments, keywords = self.fetch_args_kwargs_from_env(node)
        with saved_tensors_hooks(keep, lambda tensor: tensor):
            result = super().run_node(node)
        schema = schema_of(node.target)
        named = {parameter.name: parameter for parameter in schema.arguments}
        given = {**dict(zip(named, arguments, strict=False)), **keywords}
        made = _tensors(result)
        written = {
            storage_of(given[name])
            for name, parameter in named.items()
            if parameter.alias_info is not None and parameter.alias_info.is_write
        }
        self.alive.extend(made)
        described = pytree.tree_map_only(torch.Tensor, self._value, given)
        for storage in written | {*map(storage_of, made)} - {*map(storage_of, _tensors(given))}:
            self.writer[storage] = len(self.operations)
        call = Call(
            schema.name,
            {**{name: each.default_value for name, each in named.items()}, **described},
            tuple(self._value(value) for value in made),
        )
        *_, layer = [("", ""), *node.meta.get("nn_module_stack", {}).values()]  # the innermost one
        places = own_lines(node)
        line = f"{os.path.basename(places[-1][0])}, line {places[-1][1]}" if places else ""
        self.operations.append(Recorded(node.name, layer, line, call, bool(written), saved))
        return result

    def _value(self, tensor: torch.Tensor) -> Value:
        storage = storage_of(tensor)
        return Value(
            tuple(tensor.shape),
            tensor.element_size(),
            storage,
            self.parameters.get(storage, ""),
            tensor.requires_grad,
            self.writer.get(storage, -1),
            tensor.untyped_storage().nbytes() // tensor.element_size(),
            tensor.storage_offset(),
            tuple(tensor.stride()),
        )


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
    """A tensor of the same shape, without numbers, on the device of the module's weights."""
    weights = next((weight.device for weight in module.parameters()), tensor.device)
    fake = mode.from_tensor(tensor.detach())
    with mode:
        moved = fake if fake.device == weights else torch.empty_like(fake, device=weights)
    return moved.requires_grad_(tensor.requires_grad)


def _enter(name: str, module: nn.Module, _: Any) -> None:
    """Note that what is recorded from here on belongs to this module, inside the ones before."""
    notes = get_current_meta()
    own = {name: (name, type(module).__name__)}
    notes["nn_module_stack"] = {**notes.get("nn_module_stack", {}), **own}


def _leave(*_: Any) -> None:
    stack = get_current_meta()["nn_module_stack"]
    stack.pop(next(reversed(stack)))


def own_lines(node: fx.Node) -> list[tuple[str, int]]:
    """The lines, file and number, through which a node was made and which are not torch's."""
    places = re.findall(r'File "(.*)", line (\d+)', node.meta.get("stack_trace") or "")
    return [(file, int(line)) for file, line in places if _is_own(file)]


def at(file: str, line: int) -> str:
    """A line of the module's code."""
    code = linecache.getline(file, line).strip()
    return f": the graph ends in {os.path.basename(file)}, line {line}:\n    {code}"


def _story(network: str, error: Exception) -> str:
    """Where a module's own code was when its graph came to an end, and why."""
    places = [frame for frame in _frames(error) if _is_own(frame.filename)]
    if not places:
        return f"{network} could not be run on shapes alone: {_first_line(error)}"
    return f"{network}{at(places[-1].filename, places[-1].lineno or 0)}\n{_reason(error)}"


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """All calls on the way to an error and to those that led to it."""
    first = error.__cause__ or error.__context__
    return (_frames(first) if first else []) + list(traceback.extract_tb(error.__traceback__))


def _is_own(file: str) -> bool:
    return not file.startswith((*LIBRARIES, os.path.dirname(__file__), "<frozen", "<string>"))


def _reason(error: Exception) -> str:
    if isinstance(error, DATA_DEPENDENT):
        return ADVICE
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
