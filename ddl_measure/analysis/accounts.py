"""From a recording and the rules to what each operation costs, its gradients included.

Backwards, three things cost something: the gradient of each argument that wants one, the sum of
the gradients that come from several users of one result, and the same for a parameter that several
operations share. A gradient is computed only where it leads: from the results back to something
that wants it.
"""

from collections.abc import Mapping

from ddl_measure.analysis.recording import Recorded, Recording
from ddl_measure.analysis.records import Call, OperationCost, Rule, Value
from ddl_measure.analysis.rules import rule_for
from ddl_measure.analysis.table import Operation, Pass, in_turn, side_by_side
from ddl_teach.theory.work_depth.counting import NOTHING, WorkDepth, tree_depth

Made = tuple[int, int]  # a storage, and the operation that wrote it


def accounts(recording: Recording, rules: Mapping[str, Rule]) -> tuple[Operation, ...]:
    """What each operation costs; mere views of an argument are left out."""
    kept = [place for place, it in enumerate(recording.operations) if not it.is_view]
    uses, makers = _senders(recording, kept)
    places = {old: new for new, old in enumerate(kept)}
    seen: set[int] = set(recording.held)  # what need not be kept for backward once more
    met: set[str] = set()  # parameters that an earlier operation has used
    found = []
    for place in kept:
        recorded = recording.operations[place]
        call = recorded.call
        cost = _cost(call, rules)
        into, of_parameters = _gradients(recorded, cost or OperationCost(), place in makers)
        first = {
            it.parameter: it for it in call.inputs if it.parameter and it.parameter not in met
        }
        for value in first.values():
            shared = _sum_of_gradients(uses.get((value.storage, -1), []))
            of_parameters = in_turn(of_parameters, shared)
        met |= first.keys()
        results = {(it.storage, place) for it in call.outputs}
        arriving = [_sum_of_gradients(uses.get(made, [])) for made in results]
        keeps = {storage: size for storage, size in recorded.saved.items() if storage not in seen}
        seen |= keeps.keys()
        found.append(
            Operation(
                name=recorded.name,
                layer=recorded.layer[0],
                kind=recorded.layer[1],
                operation=call.operation,
                line=recorded.line,
                inputs=tuple(it.shape for it in call.inputs),
                output=call.output.shape if call.outputs else (),
                forward=_forward(call, cost or OperationCost()),
                gradient_sum=side_by_side(arriving),
                input_gradient=into,
                parameter_gradient=of_parameters,
                parameters=sum(it.stored for it in first.values()),
                activation_bytes=sum(keeps.values()),
                counted=cost is not None,
                needs=tuple(sorted({places[it] for it in recorded.needs})),
                gradients_to=tuple(sorted({places[it] for it in makers.get(place, ())})),
            )
        )
    return tuple(found)


def _senders(
    recording: Recording, kept: list[int]
) -> tuple[dict[Made, list[Value]], dict[int, set[int]]]:
    """The uses of each result that send a gradient back to it; and for each operation through
    which a gradient passes, to which ones it sends gradients."""
    uses: dict[Made, list[Value]] = {}
    makers: dict[int, set[int]] = {}
    for place in reversed(kept):
        call = recording.operations[place].call
        if not any(it.needs_gradient for it in call.outputs):
            continue
        results = {(it.storage, place) for it in call.outputs}
        if place in recording.results or results & uses.keys():
            wanting = [it for it in call.inputs if it.needs_gradient]
            makers[place] = {it.maker for it in wanting if it.maker >= 0}
            for value in wanting:
                uses.setdefault((value.storage, value.maker), []).append(value)
    return uses, makers


def _cost(call: Call, rules: Mapping[str, Rule]) -> OperationCost | None:
    """By the operation's rule; None where there is none. Nothing is computed of no numbers."""
    rule = rule_for(call.operation, rules)
    empty = any(it.elements == 0 for it in (*call.outputs, *call.inputs))
    return OperationCost() if rule and empty else rule(call) if rule else None


def _forward(call: Call, cost: OperationCost) -> Pass:
    """An operation reads each argument once and writes its results."""
    read = {
        it.storage: cost.read.get(name, it.nbytes)
        for name in call.arguments
        for it in call.values(name)
    }
    nbytes = sum(read.values()) + sum(it.nbytes for it in call.outputs)
    return Pass(cost.forward.work, cost.forward.depth, cost.multiply_adds, nbytes)


def _gradients(recorded: Recorded, cost: OperationCost, active: bool) -> tuple[Pass, Pass]:
    """Of what was computed before, and of parameters."""
    into, of_parameters = [], []
    for name in recorded.call.arguments if active else ():
        wanting = [it for it in recorded.call.values(name) if it.needs_gradient]
        if wanting:
            of_all = into if any(not it.parameter for it in wanting) else of_parameters
            of_all.append(_gradient(recorded, name, cost, wanting))
    return side_by_side(into), side_by_side(of_parameters)


def _gradient(recorded: Recorded, name: str, cost: OperationCost, wanting: list[Value]) -> Pass:
    """Of one argument: reads the results' gradient and what was kept, writes the argument's."""
    call, one = recorded.call, cost.gradients.get(name, NOTHING)
    multiply_adds = cost.gradient_multiply_adds.get(name, 0)
    arriving = sum(it.nbytes for it in call.outputs if it.needs_gradient)
    written = sum(it.nbytes for it in wanting)
    if not one.work and not multiply_adds and written <= arriving:
        return Pass()  # the gradient is handed on as it is, or a view of it
    if multiply_adds:
        others = {it.storage: it.nbytes for it in call.inputs if it not in wanting}
        kept = sum(size for storage, size in others.items() if storage in recorded.saved)
    else:
        kept = sum(recorded.saved.values())
    return Pass(one.work, one.depth, multiply_adds, arriving + kept + written)


def _sum_of_gradients(users: list[Value]) -> Pass:
    """A number gets a gradient from every place that used it; all but the first are added."""
    if len(users) < 2:
        return Pass()
    parts = {(it.offset, it.shape, it.stride): it.distinct for it in users}
    reached = min(users[0].stored, sum(parts.values()))
    sent = sum(it.elements for it in users)
    sums = WorkDepth(max(0, sent - reached), tree_depth(len(users)) if sent > reached else 0)
    itemsize = users[0].itemsize if sums.work else 0
    return Pass(sums.work, sums.depth, 0, (sent + reached) * itemsize)
