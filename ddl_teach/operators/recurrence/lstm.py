"""Long short-term memory (Hochreiter and Schmidhuber, Neural Computation 9(8), 1997; the forget
gate: Gers, Schmidhuber and Cummins, Neural Computation 12(10), 2000).

    i, f, o = sigmoid(their quarters of from_input + from_hidden)      (input, forget, output)
    g       = tanh(its quarter)
    c'      = f * c + i * g
    h'      = o * tanh(c')

The quarters stand in the order i, f, g, o in the product of 4 H columns. What to look at: the
memory c is only multiplied by f and added to, so its gradient passes many steps without shrinking.
"""

import torch
from torch import Tensor

from ddl_teach.operators.recurrence.cell import Kept, RecurrentCell, States


def step(from_input: Tensor, from_hidden: Tensor, states: States) -> tuple[States, Kept]:
    """The states h and c after this step, and what `step_gradients` needs of it."""
    before = states[1]
    enter, forget, new, leave = (from_input + from_hidden).chunk(4, -1)
    enter, forget, leave = enter.sigmoid(), forget.sigmoid(), leave.sigmoid()
    new = new.tanh()
    memory = forget * before + enter * new
    squashed = memory.tanh()
    return (leave * squashed, memory), (before, enter, forget, new, leave, squashed)


def step_gradients(kept: Kept, gradients: States) -> tuple[Tensor, Tensor, States]:
    """The gradients of both products, and of the state past them."""
    before, enter, forget, new, leave, squashed = kept
    of_hidden, of_memory = gradients
    of_memory = of_memory + of_hidden * leave * (1 - squashed * squashed)
    of_gates = (
        of_memory * new * enter * (1 - enter),
        of_memory * before * forget * (1 - forget),
        of_memory * enter * (1 - new * new),
        of_hidden * squashed * leave * (1 - leave),
    )
    inside = torch.cat(of_gates, -1)
    return inside, inside, (torch.zeros_like(of_hidden), of_memory * forget)


LSTM = RecurrentCell("lstm", 4, 2, step, step_gradients)
