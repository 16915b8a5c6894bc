"""Take any torch module, and say what each of its operations costs, forwards and back.

Backwards, three things cost something: the gradient of each argument that needs one, and sums of
gradients. These are for a result with several users, and for a parameter that several operations
share. A gradient is computed only where it leads: from the results back to something that wants
it. Depth is that of the longest chain. An operation begins when all that it reads is there.
Backwards it begins when the gradients of its result have come from all of its users and are added
up; the gradient of a parameter ends a chain, that of an input hands it on. Branches that do not
need each other run side by side. So the depth of a network with branches is less than the sum of
its layers' depths.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torch import nn
from torch.nn.parameter import UninitializedParameter

from ddl_measure.analysis.recording import Recorded, Recording, record
from ddl_measure.analysis.records import Call, OperationCost, Rule, Value
from ddl_measure.analysis.rules import RULES
from ddl_measure.analysis.table import (
    Analysis,
    LayerCosts,
    Operation,
    Pass,
    in_turn,
    side_by_side,
    total,
)
from ddl_teach.theory.work_depth.counting import NOTHING, WorkDepth, tree_depth

Made = tuple[int, int]  # a storage, and the operation that wrote it


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
    operations = accounts(record(module, inputs, keywords, known), known)
    return Analysis(
        network=type(module).__name__,
        operations=operations,
        layers=_layers(operations),
        parameters=sum(weights.numel() for weights in module.parameters()),
        activation_bytes=sum(operation.activation_bytes for operation in operations),
        forward=total([operation.forward for operation in operations], forward_chain(operations)),
        backward=total(
            [part for operation in operations for part in operation.gradients],
            backward_chain(operations),
        ),
    )


def accounts(recording: Recording, rules: Mapping[str, Rule]) -> tuple[Operation, ...]:
    """What each operation costs; mere views of an argument are left out."""
    kept = [place for place, operation in enumerate(recording.operations) if not operation.is_view]
    uses, makers = _senders(recording, kept)
    places = {old: new for new, old in enumerate(kept)}
    seen: set[int] = set(recording.held)  # what need not be kept for backward once more
    met: set[str] = set()  # parameters that an earlier operation has used
    operations = []
    for place in kept:
        recorded = recording.operations[place]
        call = recorded.call
        # The rule of the operation, or of the one that it does in place; without numbers no cost.
        rule = rules.get(call.operation) or rules.get(call.operation.removesuffix("_"))
        empty = any(tensor.elements == 0 for tensor in (*call.outputs, *call.inputs))
        counted = rule and (OperationCost() if empty else rule(call))
        cost = counted or OperationCost()
        into, of_parameters = _gradients(recorded, cost, place in makers)
        first = {
            tensor.parameter: tensor
            for tensor in call.inputs
            if tensor.parameter and tensor.parameter not in met
        }
        met |= first.keys()
        shared = [_sum_of_gradients(uses[tensor.storage, -1]) for tensor in first.values()]
        arriving = {
            tensor.storage: _sum_of_gradients(uses[tensor.storage, place])
            for tensor in call.outputs
        }
        keeps = {storage: size for storage, size in recorded.saved.items() if storage not in seen}
        seen |= keeps.keys()
        operations.append(
            Operation(
                name=recorded.name,
                layer=recorded.layer[0],
                kind=recorded.layer[1],
                operation=call.operation,
                line=recorded.line,
                inputs=tuple(tensor.shape for tensor in call.inputs),
                output=call.output.shape if call.outputs else (),
                forward=_forward(call, cost),
                gradient_sum=side_by_side(arriving.values()),
                input_gradient=into,
                parameter_gradient=in_turn(of_parameters, *shared),
                parameters=sum(tensor.stored for tensor in first.values()),
                activation_bytes=sum(keeps.values()),
                counted=counted is not None,
                needs=tuple(sorted({places[maker] for maker in recorded.needs})),
                gradients_to=tuple(sorted({places[maker] for maker in makers.get(place, ())})),
            )
        )
    return tuple(operations)


def _senders(
    recording: Recording, kept: list[int]
) -> tuple[dict[Made, list[Value]], dict[int, set[int]]]:
    """The uses of each result that send a gradient back to it; and for each operation through
    which a gradient passes, to which ones it sends gradients."""
    uses: dict[Made, list[Value]] = defaultdict(list)
    makers: dict[int, set[int]] = {}
    for place in reversed(kept):
        call = recording.operations[place].call
        used = any((output.storage, place) in uses for output in call.outputs)
        if not any(output.needs_gradient for output in call.outputs):
            continue
        if place in recording.results or used:
            wanting = [tensor for tensor in call.inputs if tensor.needs_gradient]
            makers[place] = {tensor.maker for tensor in wanting if tensor.maker >= 0}
            for value in wanting:
                uses[value.storage, value.maker].append(value)
    return uses, makers


def _forward(call: Call, cost: OperationCost) -> Pass:
    """The forward pass of an operation, which reads each argument once and writes its results."""
    read = {
        tensor.storage: cost.read.get(name, tensor.nbytes)
        for name in call.arguments
        for tensor in call.values(name)
    }
    nbytes = sum(read.values()) + sum(tensor.nbytes for tensor in call.outputs)
    return Pass(cost.forward.work, cost.forward.depth, cost.multiply_adds, nbytes)


def _gradients(recorded: Recorded, cost: OperationCost, active: bool) -> tuple[Pass, Pass]:
    """Two passes: the gradients by activations, and the gradients by parameters."""
    into, of_parameters = [], []
    for name in recorded.call.arguments if active else ():
        wanting = [tensor for tensor in recorded.call.values(name) if tensor.needs_gradient]
        if wanting:
            of_all = into if any(not tensor.parameter for tensor in wanting) else of_parameters
            of_all.append(_gradient(recorded, name, cost, wanting))
    return side_by_side(into), side_by_side(of_parameters)


def _gradient(recorded: Recorded, name: str, cost: OperationCost, wanting: list[Value]) -> Pass:
    """The pass for the gradient of one argument: it reads the results' gradient and what was kept,
    and writes the argument's gradient."""
    call, each = recorded.call, cost.gradients.get(name, NOTHING)
    multiply_adds = cost.gradient_multiply_adds.get(name, 0)
    arriving = sum(output.nbytes for output in call.outputs if output.needs_gradient)
    written = sum(tensor.nbytes for tensor in wanting)
    if not each.work and not multiply_adds and written <= arriving:
        return Pass()  # the gradient is handed on as it is, or a view of it
    if multiply_adds:
        others = {tensor.storage: tensor.nbytes for tensor in call.inputs if tensor not in wanting}
        kept = sum(size for storage, size in others.items() if storage in recorded.saved)
    else:
        kept = sum(recorded.saved.values())
    return Pass(each.work, each.depth, multiply_adds, arriving + kept + written)


def _sum_of_gradients(users: list[Value]) -> Pass:
    """A number gets a gradient from every place that used it; all but the first are added."""
    if len(users) < 2:
        return Pass()
    parts = {(user.offset, user.shape, user.stride): user.distinct for user in users}
    reached = min(users[0].stored, sum(parts.values()))
    sent = sum(user.elements for user in users)
    sums = WorkDepth(max(0, sent - reached), tree_depth(len(users)) if sent > reached else 0)
    itemsize = users[0].itemsize if sums.work else 0
    return Pass(sums.work, sums.depth, 0, (sent + reached) * itemsize)


def _layers(operations: tuple[Operation, ...]) -> tuple[LayerCosts, ...]:
    """One for each module that computes something itself, in the order of first use."""
    members: dict[str, list[int]] = defaultdict(list)
    for place, operation in enumerate(operations):
        members[operation.layer].append(place)
    layers = []
    for name, places in members.items():
        own = [operations[place] for place in places]
        of_inputs = [part for each in own for part in (each.gradient_sum, each.input_gradient)]
        of_parameters = [each.parameter_gradient for each in own]
        outside = (operation for place, operation in enumerate(operations) if place not in places)
        read = {needed for operation in outside for needed in operation.needs}
        # The last whose result another layer reads, or the last of all.
        last = max((place for place in places if place in read), default=places[-1])
        layers.append(
            LayerCosts(
                name=name,
                kind=own[0].kind,
                output=operations[last].output,
                forward=total(
                    [each.forward for each in own], forward_chain(operations, {*places})
                ),
                input_gradient=total(of_inputs, backward_chain(operations, {*places}, False)),
                parameter_gradient=side_by_side(of_parameters),
                parameters=sum(each.parameters for each in own),
                activation_bytes=sum(each.activation_bytes for each in own),
                counted=all(each.counted for each in own),
            )
        )
    return tuple(layers)


def forward_chain(operations: Sequence[Operation], among: Collection[int] | None = None) -> int:
    """The depth of the forward pass, or of its operations `among` these places alone."""
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
    """The depth of the backward pass, from the gradients of the results on. With `among`, only
    operations at these places count; without `to_parameters`, the gradients of parameters do
    not."""
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
