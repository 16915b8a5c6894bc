"""Take any torch module, and say what each of its operations costs, forwards and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.nn.parameter import UninitializedParameter

from ddl_measure.analysis.accounts import accounts
from ddl_measure.analysis.capture import capture
from ddl_measure.analysis.chains import backward_chain, forward_chain
from ddl_measure.analysis.recording import record
from ddl_measure.analysis.records import Rule
from ddl_measure.analysis.rules import RULES
from ddl_measure.analysis.table import Analysis, LayerCosts, Operation, Pass, total


def analyse(
    module: nn.Module, *inputs: Any, rules: Mapping[str, Rule] | None = None, **keywords: Any
) -> Analysis:
    """Work, depth, parameters, kept and moved bytes of ``module(*inputs, **keywords)``.

    Of the inputs only shapes and dtypes count, and whether their gradient is wanted
    (``requires_grad``); nothing is computed and no weight is needed, so the network may as well
    live on torch's meta device. Backwards, a gradient is given for every result. `rules` adds what
    own operations cost, by name: ``{"mine::swirl": lambda call: Cost(...)}``.
    """
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"module is a torch.nn.Module, not {module!r}: put a function into the forward of one"
        )
    if any(isinstance(weights, UninitializedParameter) for weights in module.parameters()):
        raise ValueError(
            f"{type(module).__name__} has parameters that get their shape in the first call: call "
            "it once, then analyse it"
        )
    known = {**RULES, **(rules or {})}
    operations = accounts(record(capture(module, inputs, keywords, known)), known)
    return Analysis(
        network=type(module).__name__,
        operations=operations,
        layers=_layers(operations),
        parameters=sum(weights.numel() for weights in module.parameters()),
        activation_bytes=sum(it.activation_bytes for it in operations),
        forward=total([it.forward for it in operations], forward_chain(operations)),
        backward=total(_backwards(operations), backward_chain(operations)),
    )


def _backwards(operations: tuple[Operation, ...]) -> list[Pass]:
    return [
        part
        for it in operations
        for part in (it.gradient_sum, it.input_gradient, it.parameter_gradient)
    ]


def _layers(operations: tuple[Operation, ...]) -> tuple[LayerCosts, ...]:
    """One for each module that computes something itself, in the order of first use."""
    members: dict[str, list[int]] = {}
    for place, operation in enumerate(operations):
        members.setdefault(operation.layer, []).append(place)
    found = []
    for name, places in members.items():
        own = [operations[place] for place in places]
        of_inputs = [part for it in own for part in (it.gradient_sum, it.input_gradient)]
        deepest = max(it.parameter_gradient.depth for it in own)
        found.append(
            LayerCosts(
                name=name,
                kind=own[0].kind,
                output=_result(operations, places).output,
                forward=total([it.forward for it in own], forward_chain(operations, {*places})),
                input_gradient=total(of_inputs, backward_chain(operations, {*places}, False)),
                parameter_gradient=total([it.parameter_gradient for it in own], deepest),
                parameters=sum(it.parameters for it in own),
                activation_bytes=sum(it.activation_bytes for it in own),
                counted=all(it.counted for it in own),
            )
        )
    return tuple(found)


def _result(operations: tuple[Operation, ...], places: list[int]) -> Operation:
    """The last of a layer's operations that somebody else reads, or the last of all."""
    outside = (it for place, it in enumerate(operations) if place not in places)
    read = {needed for it in outside for needed in it.needs}
    return operations[max((place for place in places if place in read), default=places[-1])]
