"""A product for every gate at every step: the textbook's formulas, line by line.

2 * gates * T products of B x I and B x H with H columns each: the same work as `fused` in many
small pieces. A small product cannot fill a processor, and each call costs the same whatever its
size. What to look at: the ratio to `fused` shrinks as H and the batch grow.
"""

import torch
from torch import Tensor
from torch.nn.functional import linear

from ddl_teach.operators.recurrence.cell import RecurrentCell, States, Tape, Weights


def forward(
    cell: RecurrentCell, weights: Weights, x: Tensor, states: States
) -> tuple[Tensor, States, Tape]:
    """Run a layer over the steps of x (steps, batch, inputs)."""
    gates = [
        tuple(part.chunk(cell.gates) for part in pair)
        for pair in (
            (weights.input, weights.input_bias),
            (weights.hidden, weights.hidden_bias),
        )
    ]
    hidden, kept = [states[0]], []
    for x_now in x:
        from_input, from_hidden = (
            torch.cat([linear(value, *gate) for gate in zip(*pair, strict=True)], -1)
            for value, pair in zip((x_now, states[0]), gates, strict=True)
        )
        states, own = cell.step(from_input, from_hidden, states)
        hidden.append(states[0])
        kept.append(own)
    return torch.stack(hidden[1:]), states, Tape(x, torch.stack(hidden[:-1]), kept)
