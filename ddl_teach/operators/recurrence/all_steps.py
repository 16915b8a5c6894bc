"""The inputs of all steps in one product: they do not wait for any state.

One product of T B x I before the loop, and T of B x H with gates * H columns in it. Only these
wait for the state before: the depth of a layer is T (depth of a product of H rows + a few),
whatever the inputs. Appleyard, Kocisky and Blunsom, 2016. What to look at: half of the work, or
more where the inputs are wide, has left the chain.
"""

import torch
from torch import Tensor
from torch.nn.functional import linear

from ddl_teach.operators.recurrence.cell import RecurrentCell, States, Tape, Weights


def forward(
    cell: RecurrentCell, weights: Weights, x: Tensor, states: States
) -> tuple[Tensor, States, Tape]:
    """Run a layer over the steps of x (steps, batch, inputs)."""
    from_inputs = linear(x, weights.input, weights.input_bias)
    hidden, kept = [states[0]], []
    for from_input in from_inputs:
        from_hidden = linear(states[0], weights.hidden, weights.hidden_bias)
        states, own = cell.step(from_input, from_hidden, states)
        hidden.append(states[0])
        kept.append(own)
    return torch.stack(hidden[1:]), states, Tape(x, torch.stack(hidden[:-1]), kept)
