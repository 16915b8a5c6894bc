"""An LSTM's layer on a processor, with one product a step, whose matrix is arranged once.

    gates = [x_t, h_(t-1)] [W, U]^T + b

A library of products lays a matrix out in the order in which its innermost loop reads it, at every
call anew. Here that is done before the first step (oneDNN's "reorder"). NumPy does the rest of a
step in place: its tanh and its calls take a fraction of torch's. What to look at: it computes what
`layer_by_layer` says line by line, and its time is that of the products.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from ddl_teach.operators.recurrence.cell import RecurrentCell, States, Tape, Weights
from ddl_teach.operators.recurrence.lstm import LSTM


def packed(weight: Tensor, bias: Tensor | None, rows: int) -> Callable[[Tensor], Tensor]:
    """x W^T + b as a function of x, which has `rows` rows; W is arranged once."""
    known = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if weight.dtype != torch.float32 or not known:
        return lambda x: linear(x, weight, bias)
    ready = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), rows)
    multiply = torch.ops.mkldnn._linear_pointwise.default
    return lambda x: multiply(x, ready, bias, "none", [], "")


@torch.no_grad()
def layer(
    cell: RecurrentCell, weights: Weights, x: Tensor, states: States, *, tape: bool = True
) -> tuple[Tensor, States, Tape]:
    """What `layer_by_layer.all_steps` computes, for an LSTM. Without a `tape` for gradients the
    steps share the memory of their gates, which stays in the cache."""
    if cell is not LSTM:
        raise ValueError(f"packed computes an LSTM, not {cell.name}: take another layer")
    (steps, batch, inputs), units = x.shape, weights.hidden.shape[1]
    both = torch.cat([weights.input, weights.hidden], 1)
    product = packed(both, weights.input_bias + weights.hidden_bias, batch)
    seen = x.new_empty(steps + 1, batch, inputs + units)
    outputs, seen[:-1, :, :inputs] = seen[1:, :, inputs:], x
    memories = x.new_empty(steps + 1 if tape else 1, batch, units).expand(steps + 1, -1, -1)
    gates = x.new_empty(steps if tape else 1, batch, 4 * units).expand(steps, -1, -1)
    seen[0, :, inputs:], memories[0] = states
    memory = memories.numpy()
    arrays = outputs.numpy(), memory, memory[1:], *quarters(gates)
    for now, own, h, c, c_next, i, f, g, o in zip(seen, gates, *arrays, strict=False):
        inside = product(now)
        torch.sigmoid(inside, out=own)
        np.tanh(inside.numpy()[:, 2 * units : 3 * units], out=g)
        np.multiply(f, c, out=c_next)
        c_next += i * g
        np.multiply(o, np.tanh(c_next), out=h)
    return outputs, (outputs[-1], memories[-1]), Tape(x, seen[:-1], [gates, memories])


@torch.no_grad()
def gradients(
    cell: RecurrentCell, weights: Weights, tape: Tape, of_outputs: Tensor, of_states: States
) -> tuple[Tensor, States, Weights]:
    """What `through_time.gradients` computes, for an LSTM."""
    gates, memories = tape.kept
    memory, of_gates = memories.numpy(), torch.empty_like(gates)
    back = packed(weights.hidden.T, None, gates.shape[1])
    of_hidden, of_memory = of_states[0], of_states[1].numpy().copy()
    arrays = of_outputs, of_gates, memory, memory[1:], *quarters(gates), *quarters(of_gates)
    for of_output, own, c, c_next, i, f, g, o, of_i, of_f, of_g, of_o in reversed(
        list(zip(*arrays, strict=False))
    ):
        of_h, squashed = (of_hidden + of_output).numpy(), np.tanh(c_next)
        of_memory += of_h * o * (1 - squashed * squashed)
        np.multiply(of_memory * g, i * (1 - i), out=of_i)
        np.multiply(of_memory * c, f * (1 - f), out=of_f)
        np.multiply(of_memory * i, 1 - g * g, out=of_g)
        np.multiply(of_h * squashed, o * (1 - o), out=of_o)
        of_memory *= f
        of_hidden = back(own)
    of_both = of_gates.flatten(0, 1).T @ tape.before.flatten(0, 1)
    of_input, of_u = of_both.tensor_split([weights.input.shape[1]], 1)
    of_bias = of_gates.sum((0, 1))
    of_weights = Weights(of_input, of_u, of_bias, of_bias)
    return of_gates @ weights.input, (of_hidden, torch.from_numpy(of_memory)), of_weights


def quarters(gates: Tensor) -> np.ndarray:
    """The input, forget, new and output gates, each (steps, batch, units)."""
    return np.moveaxis(gates.view(*gates.shape[:-1], 4, -1).numpy(), -2, 0)
