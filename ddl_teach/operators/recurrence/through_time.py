"""Backpropagation through time: a chain of T products, and everything else at once.

Backwards, step t needs the gradient of its states from step t+1:

    of_hidden_state(t-1) = of_from_hidden(t) U + what goes past the gates

and that is the whole chain. All other gradients are products over all steps together:

    dW = of_from_input^T x,    dU = of_from_hidden^T h,    dx = of_from_input W,    T B rows each

Werbos, "Backpropagation through time: what it does and how to do it", Proceedings of the IEEE
78(10), 1990.
"""

import torch
from torch import Tensor

from ddl_teach.operators.recurrence.cell import RecurrentCell, States, Tape, Weights


@torch.no_grad()
def gradients(
    cell: RecurrentCell, weights: Weights, tape: Tape, of_outputs: Tensor, of_states: States
) -> tuple[Tensor, States, Weights]:
    """The gradients of x, of the states before the first step, and of the weights."""
    of_inputs, of_hiddens = [], []
    for kept, of_output in zip(reversed(tape.kept), of_outputs.flip(0), strict=True):
        of_states = (of_states[0] + of_output, *of_states[1:])
        of_input, of_hidden, (past, *others) = cell.step_gradients(kept, of_states)
        of_states = (past + of_hidden @ weights.hidden, *others)
        of_inputs.append(of_input)
        of_hiddens.append(of_hidden)
    of_input, of_hidden = (torch.stack(parts).flip(0) for parts in (of_inputs, of_hiddens))
    of_weights = weight_gradients(of_input, of_hidden, tape.x, tape.before)
    return of_input @ weights.input, of_states, of_weights


def weight_gradients(of_input: Tensor, of_hidden: Tensor, x: Tensor, before: Tensor) -> Weights:
    """Products over all steps and samples at once; every tensor is (steps, batch, columns)."""
    of_input, of_hidden, x, before = (
        part.flatten(0, 1) for part in (of_input, of_hidden, x, before)
    )
    return Weights(of_input.T @ x, of_hidden.T @ before, of_input.sum(0), of_hidden.sum(0))
