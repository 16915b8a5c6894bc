"""Stage 1: each rank keeps the optimizer states of its own part of the weights, and no others.

In data parallelism every rank computes the same update. Instead, rank r gets only its part of the
gradients' sum (reduce-scatter), updates its part of the weights, and hands it out (all-gather). An
all-reduce is these two anyway: not a byte more is sent, and K N bytes of states become K N/P.
Rajbhandari, Rasley, Ruwase & He, "ZeRO", 2020 (its stage 1).
"""

from functools import partial

from torch import Tensor, nn

from ddl_runtime.core.arrays import split_evenly
from ddl_runtime.core.memory import Held
from ddl_teach.collectives.ring import allgather, reduce_scatter
from ddl_teach.comm import Comm
from ddl_teach.networks.memory.flat import FlatLayer, flat_layers
from ddl_teach.networks.memory.keeping import Keep
from ddl_teach.networks.memory.measured import held_by, hold
from ddl_teach.networks.twin import copies


class ShardedStates:
    """Sums gradients and updates weights. Every rank starts from the same ones, and goes back from
    its share of the loss: of a mean over all examples `loss * len(own) / len(all)`."""

    def __init__(self, comm: Comm, model: nn.Module, keep: Keep) -> None:
        self.comm, self.model, self.layers = comm, model, flat_layers(model)
        self.keepers = [
            keep(split_evenly(layer.weights, comm.size)[comm.rank]) for layer in self.layers
        ]
        hold(comm, self.tensors())
        self._held: dict[str, Held] = {}
        for layer in self.layers if comm.counts_memory else ():
            layer.when_complete(partial(self._hold, layer))

    def _hold(self, layer: FlatLayer) -> None:
        """From the backward pass to the step: the gradients of a layer."""
        if layer.name not in self._held:
            self._held[layer.name] = self.comm.hold(layer.weights.nbytes, "gradients")

    def step(self) -> None:
        """One step with the gradients that the backward passes left in the parameters."""
        for layer, keeper in zip(self.layers, self.keepers, strict=True):
            keeper.step(reduce_scatter(self.comm, layer.take_gradient()))
            if held := self._held.pop(layer.name, None):
                held.release()
            allgather(self.comm, layer.weights)

    def parameters(self) -> dict[str, Tensor]:
        return copies(self.model.named_parameters())

    def tensors(self) -> dict[str, list[Tensor]]:
        return held_by(self.model, self.keepers)
