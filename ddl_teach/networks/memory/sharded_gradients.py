"""Stage 2: also the gradients are sharded; each layer's are summed as soon as they are complete.

The last layer's gradients are complete first. They are reduce-scattered there and then; each rank
keeps its part of the sum, and the rest of the memory serves the next layer: b N bytes of gradients
become b N/P and a layer, for the same 2 (P-1)/P of the weights in bytes sent.
Rajbhandari, Rasley, Ruwase & He, "ZeRO", 2020 (its stage 2).
What to look at: the only difference to stage 1 is when the reduce-scatter happens.
"""

from functools import partial

import torch
from torch import Tensor, nn

from ddl_runtime.core.arrays import split_evenly
from ddl_teach.collectives.ring import allgather, reduce_scatter
from ddl_teach.comm import Comm
from ddl_teach.networks.memory.flat import FlatLayer, flat_layers
from ddl_teach.networks.memory.keeping import Keep
from ddl_teach.networks.memory.measured import held_by, hold
from ddl_teach.networks.twin import copies


class ShardedGradients:
    """As `ShardedStates`, but sums gradients during each backward pass."""

    def __init__(self, comm: Comm, model: nn.Module, keep: Keep) -> None:
        self.comm, self.model, self.layers = comm, model, flat_layers(model)
        own = [split_evenly(layer.weights, comm.size)[comm.rank] for layer in self.layers]
        self.keepers = [keep(weights) for weights in own]
        self.gradients = [torch.zeros_like(weights) for weights in own]
        for layer, gradient in zip(self.layers, self.gradients, strict=True):
            layer.when_complete(partial(self._sum, layer, gradient))
        hold(comm, self.tensors())

    def _sum(self, layer: FlatLayer, gradient: Tensor) -> None:
        with self.comm.hold(layer.weights.nbytes, "layers' gradients"):
            gradient += reduce_scatter(self.comm, layer.take_gradient())

    def step(self) -> None:
        for layer, keeper, gradient in zip(self.layers, self.keepers, self.gradients, strict=True):
            if layer.missing:  # of a parameter that the loss did not depend on
                self._sum(layer, gradient)
            keeper.step(gradient)
            gradient.zero_()
            allgather(self.comm, layer.weights)

    def parameters(self) -> dict[str, Tensor]:
        return copies(self.model.named_parameters())

    def tensors(self) -> dict[str, list[Tensor]]:
        return held_by(self.model, self.keepers, gradients=self.gradients)
