"""All cells of a wavefront in one batched product.

The states of all layers lie in one tensor (layers, batch, units). After wavefront w layer l has
done step w - l, so what layer l + 1 needs next lies there: one batched product for U of all layers
of the front, one for W of those above the first, one step. L + T - 1 turns instead of L T, each
with up to min(L, T) times the work. The inputs of the first layer are multiplied before, all at
once. Backwards the fronts come in reverse. What to look at: deep and narrow networks gain most.
Appleyard, Kocisky and Blunsom, 2016.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

from ddl_teach.operators.recurrence.cell import Kept, States, Weights
from ddl_teach.operators.recurrence.stack import Stack, no_gradients
from ddl_teach.operators.recurrence.through_time import weight_gradients
from ddl_teach.theory.wavefront import fronts


@dataclass(frozen=True)
class FrontTape:
    """What a forward pass by wavefronts leaves for the gradients."""

    x: Tensor
    begun: Tensor  # layers, batch, units: the hidden states before the first step
    hidden: list[Tensor]  # of each front: the hidden states that its cells have made
    kept: list[Kept]  # of each front, in the words of the cell


def forward(
    stack: Stack, x: Tensor, states: States | None = None
) -> tuple[Tensor, States, FrontTape]:
    """What `layer_by_layer.forward` computes, in L + T - 1 turns."""
    states = stack.begin(x, states)
    first, above, layers = stack.layers[0], stack.layers[1:], len(stack)
    from_x = linear(x, first.input, first.input_bias)
    u, u_bias = _side_by_side([(layer.hidden, layer.hidden_bias) for layer in stack.layers])
    if above:
        w, w_bias = _side_by_side([(layer.input, layer.input_bias) for layer in above])
    begun, outputs, hidden, kept = states[0], [], [], []
    for front, active in enumerate(fronts(layers, len(x))):
        rows, below = _slices(active)
        from_hidden = torch.baddbmm(u_bias[rows], states[0][rows], u[rows])
        from_input = [from_x[front][None]] if rows.start == 0 else []
        if below.stop > below.start:
            from_input.append(torch.baddbmm(w_bias[below], states[0][below], w[below]))
        after, own = stack.cell.step(
            torch.cat(from_input), from_hidden, tuple(state[rows] for state in states)
        )
        states = tuple(
            torch.cat([old[: rows.start], new, old[rows.stop :]])
            for old, new in zip(states, after, strict=True)
        )
        if rows.stop == layers:
            outputs.append(after[0][-1])
        hidden.append(after[0])
        kept.append(own)
    return torch.stack(outputs), states, FrontTape(x, begun, hidden, kept)


@torch.no_grad()
def gradients(
    stack: Stack, tape: FrontTape, of_outputs: Tensor, of_states: States | None = None
) -> tuple[Tensor, States, list[Weights]]:
    """What `layer_by_layer.gradients` computes, in L + T - 1 turns."""
    layers, steps = len(stack), len(of_outputs)
    after = no_gradients(stack, of_outputs) if of_states is None else of_states
    of_states = [state.clone() for state in after]
    u = torch.stack([each.hidden for each in stack.layers])
    w = torch.stack([each.input for each in stack.layers[1:]]) if layers > 1 else None
    shape = (layers, steps, of_outputs.shape[1], u.shape[1])
    of_inputs, of_hiddens = of_outputs.new_empty(shape), of_outputs.new_empty(shape)
    for front, active in reversed(list(enumerate(fronts(layers, steps)))):
        rows, below = _slices(active)
        if rows.stop == layers:
            of_states[0][-1] += of_outputs[front - layers + 1]
        of_input, of_hidden, past = stack.cell.step_gradients(
            tape.kept[front], tuple(state[rows] for state in of_states)
        )
        for state, own in zip(of_states, past, strict=True):
            state[rows] = own
        of_states[0][rows] += of_hidden @ u[rows]
        if below.stop > below.start:
            of_states[0][below] += of_input[below.start - below.stop :] @ w[below]
        layer = torch.arange(rows.start, rows.stop)
        of_inputs[layer, front - layer], of_hiddens[layer, front - layer] = of_input, of_hidden
    # The hidden states of all cells as (layers, steps, batch, units).
    hidden, of_weights = tape.begun.new_empty((layers, steps, *tape.begun.shape[1:])), []
    for front, (rows, of_cells) in enumerate(zip(fronts(layers, steps), tape.hidden, strict=True)):
        layer = torch.arange(rows.start, rows.stop)
        hidden[layer, front - layer] = of_cells
    for place, below in enumerate([tape.x, *hidden[:-1]]):
        before = torch.cat([tape.begun[place][None], hidden[place][:-1]])
        of_weights.append(weight_gradients(of_inputs[place], of_hiddens[place], below, before))
    return of_inputs[0] @ stack.layers[0].input, tuple(of_states), of_weights


def _side_by_side(products: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """The layers' matrices, transposed and stacked for `baddbmm`, and their stacked biases."""
    matrices, biases = zip(*products, strict=True)
    return torch.stack([matrix.T for matrix in matrices]), torch.stack(biases)[:, None]


def _slices(active: range) -> tuple[slice, slice]:
    """The layers of a front, and those that feed them: one below each but the first layer."""
    rows = slice(active.start, active.stop)
    return rows, slice(max(rows.start, 1) - 1, rows.stop - 1)
