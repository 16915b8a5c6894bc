"""Several layers on top of each other, one after the other: what every other order is held to.

Layer l runs over all its steps, then layer l+1 over its outputs. The order is easy and wastes
parallelism: L T cells in L T turns (see `wavefront`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ddl_teach.operators.recurrence import all_steps, through_time
from ddl_teach.operators.recurrence.cell import Forward, RecurrentCell, States, Tape, Weights
from ddl_teach.operators.recurrence.elman import ELMAN
from ddl_teach.operators.recurrence.gru import GRU
from ddl_teach.operators.recurrence.lstm import LSTM

KINDS = {torch.nn.RNN: ELMAN, torch.nn.GRU: GRU, torch.nn.LSTM: LSTM}


@dataclass(frozen=True)
class Stack:
    """Layers of one kind of cell, the lowest first."""

    cell: RecurrentCell
    layers: tuple[Weights, ...]

    def __len__(self) -> int:
        return len(self.layers)

    @classmethod
    def of(cls, module: torch.nn.RNNBase) -> Stack:
        """The weights of a torch.nn.RNN, GRU or LSTM; shared, not copied."""
        cell = KINDS.get(type(module))
        if cell is None:
            name = type(module).__name__
            raise TypeError(f"module: a torch.nn.RNN, GRU or LSTM is needed, not a {name}")
        unknown = {"bidirectional": False, "proj_size": 0, "dropout": 0.0, "bias": True}
        for name, plain in unknown.items():
            if getattr(module, name) != plain:
                raise ValueError(
                    f"{name}={getattr(module, name)} of this {type(module).__name__} is not "
                    f"computed here: make it with {name}={plain}"
                )
        if getattr(module, "nonlinearity", "tanh") != "tanh":
            raise ValueError(f"nonlinearity={module.nonlinearity!r}: only 'tanh' is computed here")
        if module.batch_first:
            raise ValueError("batch_first=True: steps come first here; transpose x and make the "
                             "module with batch_first=False")  # fmt: skip
        return cls(cell, tuple(Weights(*layer) for layer in module.all_weights))

    def begin(self, x: Tensor, states: States | None) -> States:
        """The states before the first step, zeros unless given; refuses what does not fit."""
        weights, inputs = self.layers[0], self.layers[0].input.shape[1]
        if x.ndim != 3 or x.shape[2] != inputs or not x.shape[0]:
            raise ValueError(
                f"x of shape {tuple(x.shape)}: it must be (steps, batch, {inputs}), with "
                "at least one step"
            )
        if x.dtype != weights.input.dtype:
            raise TypeError(f"x is {x.dtype} and the weights are {weights.input.dtype}: convert x")
        shape = (len(self), x.shape[1], weights.hidden.shape[1])
        if states is None:
            return tuple(x.new_zeros(shape) for _ in range(self.cell.states))
        found = [tuple(state.shape) for state in states]
        if found != [shape] * self.cell.states:
            raise ValueError(
                f"states of shapes {found}: {self.cell.name} needs {self.cell.states} in a tuple, "
                f"of shape (layers, batch, units) = {shape}"
            )
        return tuple(states)


def forward(
    stack: Stack, x: Tensor, states: States | None = None, *, layer: Forward = all_steps.forward
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
    stack: Stack, tapes: Sequence[Tape], of_outputs: Tensor, of_states: States | None = None
) -> tuple[Tensor, States, list[Weights]]:
    """The gradients of x, of the states before the first step, and of every layer's weights."""
    after = no_gradients(stack, of_outputs) if of_states is None else of_states
    begun, of_weights = [], []
    layers = list(zip(stack.layers, tapes, *after, strict=True))
    for weights, tape, *own in reversed(layers):
        of_outputs, before, of_own = through_time.gradients(
            stack.cell, weights, tape, of_outputs, tuple(own)
        )
        begun.append(before)
        of_weights.append(of_own)
    return of_outputs, stacked(begun[::-1]), of_weights[::-1]


def no_gradients(stack: Stack, of_outputs: Tensor) -> States:
    """Nobody asks for the last states: zeros in their place."""
    shape = (len(stack), *of_outputs.shape[1:])
    return tuple(of_outputs.new_zeros(shape) for _ in range(stack.cell.states))


def stacked(of_layers: Sequence[States]) -> States:
    """From the states of each layer to states with a leading axis of layers."""
    return tuple(torch.stack(parts) for parts in zip(*of_layers, strict=True))
