"""Several layers of one kind of cell on top of each other, with the weights of torch's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ddl_teach.operators.recurrence.cell import RecurrentCell, States, Weights
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
        plain = {
            "bidirectional": False, "proj_size": 0, "dropout": 0.0, "bias": True,
            "nonlinearity": "tanh", "batch_first": False,
        }  # fmt: skip
        for name, computed in plain.items():
            given = getattr(module, name, computed)
            if given != computed:
                advice = "; transpose x" if name == "batch_first" else ""
                kind, wanted = type(module).__name__, f"take {name}={computed!r}{advice}"
                raise ValueError(f"{name}={given!r} of this {kind} is not computed here: {wanted}")
        return cls(cell, tuple(Weights(*layer) for layer in module.all_weights))

    def begin(self, x: Tensor, states: States | None) -> States:
        """The states before the first step, zeros unless given; refuses what does not fit."""
        weights, inputs = self.layers[0], self.layers[0].input.shape[1]
        if x.ndim != 3 or x.shape[2] != inputs or not x.shape[0]:
            wanted = f"it must be (steps, batch, {inputs}), with at least one step"
            raise ValueError(f"x of shape {tuple(x.shape)}: {wanted}")
        if x.dtype != weights.input.dtype:
            raise TypeError(f"x is {x.dtype} and the weights are {weights.input.dtype}: convert x")
        shape = (len(self), x.shape[1], weights.hidden.shape[1])
        if states is None:
            return tuple(x.new_zeros(shape) for _ in range(self.cell.states))
        shapes = [tuple(state.shape) for state in states]
        if shapes != [shape] * self.cell.states:
            needed = f"{self.cell.name} needs {self.cell.states} in a tuple, of shape {shape}"
            raise ValueError(f"states of shapes {shapes}: {needed} (layers, batch, hidden)")
        return tuple(states)


def no_gradients(stack: Stack, of_outputs: Tensor) -> States:
    """The last states are not asked for: zeros in their place."""
    shape = (len(stack), *of_outputs.shape[1:])
    return tuple(of_outputs.new_zeros(shape) for _ in range(stack.cell.states))


def stacked(of_layers: Sequence[States]) -> States:
    """The states of all layers as tensors with a leading axis of layers."""
    return tuple(torch.stack(parts) for parts in zip(*of_layers, strict=True))
