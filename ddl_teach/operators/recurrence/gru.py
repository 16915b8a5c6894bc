"""The gated recurrent unit (Cho et al., "Learning phrase representations using RNN
encoder-decoder for statistical machine translation", EMNLP 2014).

    r = sigmoid(in_r + hid_r)      z = sigmoid(in_z + hid_z)      (reset and update)
    n = tanh(in_n + r * hid_n)
    h' = (1 - z) * n + z * h

The three parts stand in this order in the product of 3 H columns. The reset gate multiplies the
product with U, not h itself, as in cuDNN and torch: so one product serves all gates.
"""

import torch
from torch import Tensor

from ddl_teach.operators.recurrence.cell import Kept, RecurrentCell, States


def step(from_input: Tensor, from_hidden: Tensor, states: States) -> tuple[States, Kept]:
    """The state after this step, and what `step_gradients` needs of it."""
    [before] = states
    reset_input, update_input, new_input = from_input.chunk(3, -1)
    reset_hidden, update_hidden, new_hidden = from_hidden.chunk(3, -1)
    reset = (reset_input + reset_hidden).sigmoid()
    update = (update_input + update_hidden).sigmoid()
    new = (new_input + reset * new_hidden).tanh()
    after = (1 - update) * new + update * before
    return (after,), (before, reset, update, new, new_hidden)


def step_gradients(kept: Kept, gradients: States) -> tuple[Tensor, Tensor, States]:
    """The gradients of both products, and of the state past them."""
    before, reset, update, new, new_hidden = kept
    [of_after] = gradients
    of_new = of_after * (1 - update) * (1 - new * new)
    of_update = of_after * (before - new) * update * (1 - update)
    of_reset = of_new * new_hidden * reset * (1 - reset)
    of_input = torch.cat([of_reset, of_update, of_new], -1)
    of_hidden = torch.cat([of_reset, of_update, of_new * reset], -1)
    return of_input, of_hidden, (of_after * update,)


GRU = RecurrentCell("gru", 3, 1, step, step_gradients)
