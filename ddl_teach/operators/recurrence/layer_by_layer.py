"""Layer l runs over all its steps, then layer l+1 over its outputs: what other orders are held to.

The order is easy and wastes parallelism: L T cells in L T turns (see `wavefront`). Within a layer
there are three ways to compute the products with the weights:

    per_gate     a product for every gate at every step: the textbook's formulas, line by line
    fused        all gates of a step in one product: their weights stand below each other
    all_steps    the inputs of all steps in one product: they do not wait for any state

With G gates, `per_gate` takes 2 G T products of B x I and B x H with H columns each; `fused` the
same work in 2 T products with G H columns, which fill a processor better; the ratio shrinks as H
and the batch grow. `all_steps` takes one product of T B x I before the loop and T of B x H. Only
these wait for the state before: half of the work, or more where inputs are wide, has left the
chain. Appleyard et al. 2016.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import linear

from ddl_teach.operators.recurrence import through_time
from ddl_teach.operators.recurrence.cell import RecurrentCell, States, Tape, Weights
from ddl_teach.operators.recurrence.stack import Stack, no_gradients, stacked

Result = tuple[Tensor, States, Tape]
Layer = Callable[[RecurrentCell, Weights, Tensor, States], Result]


def per_gate(cell: RecurrentCell, weights: Weights, x: Tensor, states: States) -> Result:
    """Run a layer over the steps of x (steps, batch, inputs), a product for each gate."""

    def product(matrix: Tensor, bias: Tensor) -> Callable[[Tensor], Tensor]:
        gates = list(zip(matrix.chunk(cell.gates), bias.chunk(cell.gates), strict=True))
        return lambda value: torch.cat([linear(value, *gate) for gate in gates], -1)

    from_inputs = map(product(weights.input, weights.input_bias), x)
    return _steps(cell, x, states, from_inputs, product(weights.hidden, weights.hidden_bias))


def fused(cell: RecurrentCell, weights: Weights, x: Tensor, states: States) -> Result:
    """Like `per_gate`, with one product for all gates of a step."""
    from_inputs = (linear(x_now, weights.input, weights.input_bias) for x_now in x)
    return _steps(cell, x, states, from_inputs, _all_gates(weights))


def all_steps(cell: RecurrentCell, weights: Weights, x: Tensor, states: States) -> Result:
    """Like `fused`, with one product for the inputs of all steps."""
    from_inputs = linear(x, weights.input, weights.input_bias)
    return _steps(cell, x, states, from_inputs, _all_gates(weights))


def _all_gates(weights: Weights) -> Callable[[Tensor], Tensor]:
    return lambda hidden: linear(hidden, weights.hidden, weights.hidden_bias)


def _steps(
    cell: RecurrentCell, x: Tensor, states: States, from_inputs: Iterable[Tensor],
    from_hidden: Callable[[Tensor], Tensor],
) -> Result:  # fmt: skip
    """The chain of steps: outputs, the last states, and the tape for the gradients."""
    hidden, kept = [states[0]], []
    for from_input in from_inputs:
        states, own = cell.step(from_input, from_hidden(states[0]), states)
        hidden.append(states[0])
        kept.append(own)
    return torch.stack(hidden[1:]), states, Tape(x, torch.stack(hidden[:-1]), kept)


def forward(
    stack: Stack, x: Tensor, states: States | None = None, *, layer: Layer = all_steps
) -> tuple[Tensor, States, list[Tape]]:
    """Outputs (steps, batch, units) of the top layer, states (layers, batch, units), tapes."""
    begun, ended, tapes = stack.begin(x, states), [], []
    for weights, *own in zip(stack.layers, *begun, strict=True):
        x, last, tape = layer(stack.cell, weights, x, tuple(own))
        ended.append(last)
        tapes.append(tape)
    return x, stacked(ended), tapes


@torch.no_grad()
def gradients(
    stack: Stack, tapes: Sequence[Tape], of_outputs: Tensor, of_states: States | None = None,
    *, layer: Callable[..., tuple[Tensor, States, Weights]] = through_time.gradients,
) -> tuple[Tensor, States, list[Weights]]:  # fmt: skip
    """The gradients of x, of the states before the first step, and of every layer's weights."""
    after = no_gradients(stack, of_outputs) if of_states is None else of_states
    begun, of_weights = [], []
    layers = list(zip(stack.layers, tapes, *after, strict=True))
    for weights, tape, *own in reversed(layers):
        of_outputs, before, of_own = layer(stack.cell, weights, tape, of_outputs, tuple(own))
        begun.append(before)
        of_weights.append(of_own)
    return of_outputs, stacked(begun[::-1]), of_weights[::-1]
