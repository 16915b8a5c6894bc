"""Rules for recurrent layers over a sequence: stacks of them, in one or both directions.

A layer's step needs the step before it and the same step of the layer below, no more. So the chain
through L layers and T steps has L + T - 1 links (unit 04). A layer that reads in both directions
needs the whole of what is below. torch adds two biases to each gate; the formulas know one.
"""

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_teach.theory.work_depth import gru, lstm, rnn
from ddl_teach.theory.work_depth.counting import (
    NOTHING,
    Count,
    Learning,
    WorkDepth,
    matrix_product,
)


def recurrent(formula: Learning, gates: int) -> Rule:
    """The rule of a stack of layers whose single one `formula` counts."""

    def rule(call: Call) -> OperationCost | None:
        if call.get("input") is None or len({state.shape for state in call.outputs[1:]}) > 1:
            return None  # sequences of different lengths, or a projection after each step
        x, hidden = call["input"], call.outputs[1].shape[-1]
        places = (1, 0) if call.get("batch_first") else (0, 1)
        steps, batch = (
            (x.shape[place] for place in places) if len(x.shape) == 3 else (x.shape[0], 1)
        )
        directions = 2 if call["bidirectional"] else 1
        forward = backward = parameters = NOTHING
        into = own = through = 0  # multiply-adds of both gradients, and of those through time
        for layer in range(call["num_layers"]):
            inputs = directions * hidden if layer else x.shape[-1]
            sizes = (batch, steps, inputs, hidden)
            first = layer == 0
            forward = forward.then(_stacked(formula.forward, sizes, first or directions > 1))
            back = _stacked(formula.input_gradient, sizes, first or directions > 1)
            outwards = matrix_product(batch * steps, gates * hidden, inputs).work
            weights = formula.parameter_gradient(*sizes)
            alone = weights.work - (back.work - outwards)
            parameters = parameters.beside(WorkDepth(alone, weights.depth))
            if first and not x.needs_gradient:
                back = WorkDepth(back.work - outwards, back.depth)
            else:
                into += batch * steps * gates * hidden * inputs
            backward = backward.then(back)
            through += batch * (steps - 1) * gates * hidden * hidden
            own += batch * steps * gates * hidden * (inputs + hidden)
        biases = (1 if call["has_biases"] else -1) * gates * batch * steps * hidden
        forward = WorkDepth(forward.work + biases * call["num_layers"], forward.depth)
        gradients = {"input": backward, "params": parameters}
        multiply_adds = {"input": directions * (into + through), "params": directions * own}
        if not x.needs_gradient:  # going back through time then serves the weights alone
            gradients["params"] = WorkDepth(backward.work + parameters.work, parameters.depth)
            multiply_adds["params"] += multiply_adds["input"]
        gradients = {name: cost.copies(directions) for name, cost in gradients.items()}
        start = matrix_product(batch * directions * call["num_layers"], gates * hidden, hidden)
        gradients["hx"] = WorkDepth(start.work, start.depth)
        multiply_adds["hx"] = batch * directions * call["num_layers"] * gates * hidden * hidden
        return OperationCost(
            forward.copies(directions), gradients, directions * own, multiply_adds
        )

    return rule


def _stacked(formula: Count, sizes: tuple[int, ...], whole: bool) -> WorkDepth:
    """A layer's work, and its share of the depth: all its steps if `whole`, else one step."""
    batch, _, inputs, hidden = sizes
    depth = formula(*sizes).depth if whole else formula(batch, 1, inputs, hidden).depth
    return WorkDepth(formula(*sizes).work, depth)


RULES: dict[str, Rule] = {
    "aten::lstm": recurrent(lstm, 4),
    "aten::gru": recurrent(gru, 3),
    "aten::rnn_tanh": recurrent(rnn, 1),
    "aten::rnn_relu": recurrent(rnn, 1),
}
