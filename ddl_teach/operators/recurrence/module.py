"""A recurrent network that computes as you like: a torch module in place of torch's own.

It holds the torch.nn.RNN, GRU or LSTM that it was made from, computes with that module's weights,
and returns what it returns. Its gradients are autograd's, through the plain code of the way.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ddl_runtime.core.checks import one_of
from ddl_teach.operators.recurrence import layer_by_layer, wavefront
from ddl_teach.operators.recurrence.stack import Stack

WAYS: dict[str, Callable[..., Any]] = {
    "per_gate": partial(layer_by_layer.forward, layer=layer_by_layer.per_gate),
    "fused": partial(layer_by_layer.forward, layer=layer_by_layer.fused),
    "all_steps": partial(layer_by_layer.forward, layer=layer_by_layer.all_steps),
    "wavefront": wavefront.forward,
}


class Recurrent(nn.Module):
    """`Recurrent(torch.nn.LSTM(8, 16, 3), way="wavefront")`: the same function, another order."""

    def __init__(self, module: nn.RNNBase, way: str = "all_steps") -> None:
        super().__init__()
        one_of(way, "way of Recurrent", WAYS)
        Stack.of(module)  # refuses what is not computed here, before anything runs
        self.module, self.way = module, way

    def forward(
        self, x: Tensor, states: Tensor | tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor | tuple[Tensor, Tensor]]:
        """Outputs of the top layer, and the last states: h, or for an LSTM (h, c)."""
        given = (states,) if isinstance(states, torch.Tensor) else states
        outputs, last, _ = WAYS[self.way](Stack.of(self.module), x, given)
        return outputs, last if len(last) > 1 else last[0]
