"""What a recurrent cell is: gates from two products, then arithmetic element by element.

At step t a layer of H units has

    from_input  = x_t W^T + b
    from_hidden = h_(t-1) U^T + b'          (both gates * H wide)
    states_t    = step(from_input, from_hidden, states_(t-1))

with the states h, or h and c. `elman`, `gru` and `lstm` hold only the step and its gradients, for
arrays of any leading axes: one cell, or all cells of a wavefront.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

States = tuple[Tensor, ...]
Kept = tuple[Tensor, ...]


@dataclass(frozen=True)
class RecurrentCell:
    """A kind of recurrent cell. Its hidden state is the first of its states."""

    name: str
    gates: int  # how many times the hidden units the products are wide
    states: int
    step: Callable[[Tensor, Tensor, States], tuple[States, Kept]]
    """(from_input, from_hidden, states before) -> (states after, what its gradients need)."""
    step_gradients: Callable[[Kept, States], tuple[Tensor, Tensor, States]]
    """(kept, gradients of the states after) -> the gradients of from_input, of from_hidden, and of
    the states before as far as they do not go through from_hidden."""


@dataclass(frozen=True)
class Weights:
    """The weights of one layer, or their gradients, laid out as in torch's recurrent layers."""

    input: Tensor  # gates * H, inputs
    hidden: Tensor  # gates * H, H
    input_bias: Tensor  # gates * H
    hidden_bias: Tensor  # gates * H

    def plus(self, other: Weights) -> Weights:
        return Weights(*map(torch.add, vars(self).values(), vars(other).values()))


@dataclass(frozen=True)
class Tape:
    """What a forward pass leaves for the gradients: of one layer, over some steps."""

    x: Tensor  # steps, batch, inputs
    before: Tensor  # steps, batch, H: the hidden state that each step began with
    kept: list[Any]  # of each step, in the words of its cell
