"""All gates of a step in one product: their weights stand below each other in one matrix.

2 T products, of B x I and of B x H with gates * H columns. Appleyard, Kocisky and Blunsom,
"Optimizing performance of recurrent neural networks on GPUs", 2016. What to look at: not an
operation less than `per_gate`, and still faster.
"""

import torch
from torch import Tensor
from torch.nn.functional import linear

from ddl_teach.operators.recurrence.cell import RecurrentCell, States, Tape, Weights


def forward(
    cell: RecurrentCell, weights: Weights, x: Tensor, states: States
) -> tuple[Tensor, States, Tape]:
    """Run a layer over the steps of x (steps, batch, inputs)."""
    hidden, kept = [states[0]], []
    for x_now in x:
        from_input = linear(x_now, weights.input, weights.input_bias)
        from_hidden = linear(states[0], weights.hidden, weights.hidden_bias)
        states, own = cell.step(from_input, from_hidden, states)
        hidden.append(states[0])
        kept.append(own)
    return torch.stack(hidden[1:]), states, Tape(x, torch.stack(hidden[:-1]), kept)
