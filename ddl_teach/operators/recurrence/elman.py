"""The simple recurrent cell (Elman, "Finding structure in time", Cognitive Science 14, 1990).

    h' = tanh(from_input + from_hidden)

What to look at: its gradient is multiplied by U and by 1 - h'^2 at every step back, so it shrinks,
or explodes, like a power.
"""

import torch
from torch import Tensor

from ddl_teach.operators.recurrence.cell import Kept, RecurrentCell, States


def step(from_input: Tensor, from_hidden: Tensor, states: States) -> tuple[States, Kept]:
    """The state after this step, and what `step_gradients` needs of it."""
    hidden = (from_input + from_hidden).tanh()
    return (hidden,), (hidden,)


def step_gradients(kept: Kept, gradients: States) -> tuple[Tensor, Tensor, States]:
    """The gradients of both products, and of the state past them."""
    [hidden], [of_hidden] = kept, gradients
    inside = of_hidden * (1 - hidden * hidden)
    return inside, inside, (torch.zeros_like(hidden),)


ELMAN = RecurrentCell("rnn", 1, 1, step, step_gradients)
