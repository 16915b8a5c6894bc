"""Run a graph on shapes, and write down of each operation what it read, made and kept.

The run goes through torch's own autograd with tensors that have no numbers, so what backward must
keep is not modelled but observed: every tensor that autograd saves passes a hook. A tensor saved
twice, or whose view is saved too, is kept once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx
from torch.autograd.graph import saved_tensors_hooks
from torch.utils import _pytree as pytree

from ddl_measure.analysis.capture import Captured, schema_of, storage_of
from ddl_measure.analysis.not_traceable import (
    DATA_DEPENDENT,
    NotTraceable,
    own_lines,
    story_of_node,
)
from ddl_measure.analysis.records import Call, Value


@dataclass(frozen=True)
class Recorded:
    """One operation: its call, where it stands, whom it waits for, what backward needs of it."""

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


def record(captured: Captured) -> Recording:
    """What happens in one forward pass."""
    recorder = Recorder(captured)
    try:
        with captured.mode, torch.enable_grad():
            outputs = recorder.run(*captured.inputs)
    except (*DATA_DEPENDENT, NotImplementedError) as error:
        raise NotTraceable(story_of_node(captured.network, recorder.node, error)) from error
    made = [storage_of(value) for value in pytree.tree_leaves(outputs) if is_tensor(value)]
    results = frozenset(recorder.writer[storage] for storage in made if storage in recorder.writer)
    if not results:  # they are inside an object that torch can't look into
        read = {maker for it in recorder.operations for maker in it.needs}
        results = frozenset(recorder.writer.values()) - read
    return Recording(tuple(recorder.operations), results, captured.held)


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(value, torch.Tensor)


class Recorder(fx.Interpreter):
    """Runs a graph node by node and keeps a record of each."""

    def __init__(self, captured: Captured, outer: Recorder | None = None) -> None:
        super().__init__(captured.graph, garbage_collect_values=False)
        self.captured = captured
        self.operations: list[Recorded] = outer.operations if outer else []
        # Which operation wrote last into a storage: whoever reads from it waits for that one.
        self.writer: dict[int, int] = outer.writer if outer else {}
        # As long as a tensor is held, its storage's number stands for no other.
        self.alive: list[Any] = outer.alive if outer else []

    def run_node(self, node: fx.Node) -> Any:
        """As the interpreter does; an operation is recorded."""
        self.node = node
        if node.op != "call_function" or not isinstance(node.target, OPERATIONS):
            return super().run_node(node)
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return self._inner(node)
        saved: dict[int, int] = {}

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            self.alive.append(tensor)
            saved[storage_of(tensor)] = tensor.untyped_storage().nbytes()
            return tensor

        arguments, keywords = self.fetch_args_kwargs_from_env(node)
        with saved_tensors_hooks(keep, lambda tensor: tensor):
            result = super().run_node(node)
        self._write_down(node, arguments, keywords, result, saved)
        return result

    def _inner(self, node: fx.Node) -> Any:
        """A part of the graph in a mode of its own, such as without gradients."""
        arguments, _ = self.fetch_args_kwargs_from_env(node)
        if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled:
            enabled, body, *values = arguments
            inner = Recorder(replace(self.captured, graph=body), self)
            with torch.set_grad_enabled(enabled):
                return inner.run(*values)
        raise NotImplementedError(f"{node.target} holds graphs of its own")

    def _write_down(
        self,
        node: fx.Node,
        arguments: tuple[Any, ...],
        keywords: Mapping[str, Any],
        result: Any,
        saved: dict[int, int],
    ) -> None:
        schema = schema_of(node.target)
        named = {parameter.name: parameter for parameter in schema.arguments}
        given = {**dict(zip(named, arguments, strict=False)), **keywords}
        made = [value for value in pytree.tree_leaves(result) if is_tensor(value)]
        read = [value for value in pytree.tree_leaves(given) if is_tensor(value)]
        written = {
            storage_of(given[name])
            for name, parameter in named.items()
            if parameter.alias_info is not None and parameter.alias_info.is_write
        }
        self.alive.extend(made)
        described = pytree.tree_map_only(torch.Tensor, self._value, given)
        known = {storage_of(value) for value in read}
        for storage in written | {storage_of(value) for value in made} - known:
            self.writer[storage] = len(self.operations)
        call = Call(
            schema.name,
            {**{name: it.default_value for name, it in named.items()}, **described},
            tuple(self._value(value) for value in made),
        )
        self.operations.append(
            Recorded(node.name, _layer(node), _line(node), call, bool(written), saved)
        )

    def _value(self, tensor: torch.Tensor) -> Value:
        storage = storage_of(tensor)
        return Value(
            tuple(tensor.shape),
            tensor.element_size(),
            storage,
            self.captured.parameters.get(storage, ""),
            tensor.requires_grad,
            self.writer.get(storage, -1),
            tensor.untyped_storage().nbytes() // tensor.element_size(),
            tensor.storage_offset(),
            tuple(tensor.stride()),
        )


OPERATIONS = (torch._ops.OpOverload, torch._ops.HigherOrderOperator)


def _layer(node: fx.Node) -> tuple[str, str]:
    """The innermost module that a node stands in: its name and what it is."""
    *_, (name, kind) = [("", ""), *(node.meta.get("nn_module_stack") or {}).values()]
    kind = kind if isinstance(kind, str) else kind.__name__
    return str(name), kind.rpartition(".")[2]


def _line(node: fx.Node) -> str:
    """Where a node stands in code that is not torch's own."""
    places = own_lines(node)
    return f"{os.path.basename(places[-1][0])}, line {places[-1][1]}" if places else ""
