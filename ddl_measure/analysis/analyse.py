"""Take any torch module, and say what each of its operations costs, forwards and back.

Depth is that of the longest chain. An operation begins when all that it reads is there. Backwards
it begins when the gradients of its result have come from all of its users and are added up; the
gradient of a parameter ends a chain, that of an input hands it on. Branches that do not need each
other run side by side, so wherever a network has branches, its depth is less than the sum of its
layers' depths.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torch import nn
from torch.nn.parameter import UninitializedParameter

from ddl_measure.analysis.accounts import accounts
from ddl_measure.analysis.capture import capture
from ddl_measure.analysis.recording import record
from ddl_measure.analysis.records import Rule
from ddl_measure.analysis.rules import RULES
from ddl_measure.analysis.table import Analysis, LayerCosts, Operation, total


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
        backward=total(
            [part for it in operations for part in it.gradients], backward_chain(operations)
        ),
    )


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


def forward_chain(operations: Sequence[Operation], among: Collection[int] | None = None) -> int:
    """Depth of the forward pass; if told so, of those operations alone that stand `among`."""
    finished: list[int] = []
    for place, operation in enumerate(operations):
        begun = max((finished[needed] for needed in operation.needs), default=0)
        own = operation.forward.depth if among is None or place in among else 0
        finished.append(begun + own)
    return max(finished, default=0)


def backward_chain(
    operations: Sequence[Operation],
    among: Collection[int] | None = None,
    to_parameters: bool = True,
) -> int:
    """Depth of the gradients, from those of the results on, with or without the parameters'."""
    begun = [0] * len(operations)
    longest = 0
    for place in reversed(range(len(operations))):
        operation = operations[place]
        summed = handed_on = begun[place]
        if among is None or place in among:
            summed += operation.gradient_sum.depth
            handed_on = summed + operation.input_gradient.depth
            aside = operation.parameter_gradient.depth if to_parameters else 0
            longest = max(longest, handed_on, summed + aside)
        for maker in operation.gradients_to:
            begun[maker] = max(begun[maker], handed_on)
    return longest
