"""Stage 3: also the weights are sharded; a layer is whole only while it is being computed.

    forward    all-gather the layer's weights, compute, forget them
    backward   all-gather them again, compute, reduce-scatter the gradients, forget both
    step       each rank updates the part that it owns; nothing is sent

Now everything that lasts is divided by P, and a rank sends 3 (P-1)/P of the weights instead of 2.
Rajbhandari, Rasley, Ruwase & He, "ZeRO", 2020 (its stage 3); Zhao et al., "PyTorch FSDP", 2023.
A weight of two layers, as a tied embedding, stays whole from the first to the last of them.
What to look at: the weights' memory is given back although the backward pass still refers to it.
"""

from functools import partial

import torch
from torch import Tensor, nn

from ddl_runtime.core.arrays import split_evenly
from ddl_teach.collectives.ring import reduce_scatter
from ddl_teach.comm import Comm
from ddl_teach.networks.memory.flat import FlatLayer, flat_layers
from ddl_teach.networks.memory.keeping import Keep
from ddl_teach.networks.memory.measured import held_by, hold
from ddl_teach.networks.twin import copies


class ShardedParameters:
    """A sequence of layers of which each rank owns a part, as `ShardedStates`; call it in place of
    the model. Frozen parameters stay whole on every rank."""

    def __init__(self, comm: Comm, model: nn.Sequential, keep: Keep) -> None:
        if direct := ", ".join(name for name, _ in model.named_parameters(recurse=False)):
            raise ValueError(f"parameters {direct}: put each into a child module, or use stage 2")
        self.comm, self.model = comm, model
        self.layers = {layer.name: layer for layer in flat_layers(model)}
        self.own, self.gradients, self.keepers = {}, {}, {}
        for name, layer in self.layers.items():
            self.own[name] = split_evenly(layer.weights, comm.size)[comm.rank].clone()
            self.gradients[name] = torch.zeros_like(self.own[name])
            self.keepers[name] = keep(self.own[name])
            layer.when_complete(partial(self._sum, layer))
            layer.forget()
        # The last child that a layer's weights serve; the first one gives the layer its name.
        self.last = {
            name: [child for child, of in model.named_children() if set(of.parameters()) & own][-1]
            for name, own in ((name, set(layer.parameters)) for name, layer in self.layers.items())
        }
        hold(comm, self.tensors())

    def __call__(self, x: Tensor) -> Tensor:
        """The forward pass; each layer's weights are there only for its own."""
        for name, child in self.model.named_children():
            if name in self.layers:
                self._gather(self.layers[name])
            x = child(x)
            for layer in (self.layers[of] for of, last in self.last.items() if last == name):
                layer.forget()
                if x.requires_grad:  # gather again when the gradient of this output is there
                    x.register_hook(lambda _, layer=layer: self._gather(layer))
        return x

    def _gather(self, layer: FlatLayer) -> None:
        layer.gather(self.comm, self.own[layer.name])

    def _sum(self, layer: FlatLayer) -> None:
        with self.comm.hold(layer.weights.nbytes, "layers' gradients"):
            self.gradients[layer.name] += reduce_scatter(self.comm, layer.take_gradient())
        layer.forget()

    def step(self) -> None:
        for name, layer in self.layers.items():
            if layer.missing:  # of a parameter that the loss did not depend on
                self._sum(layer)
            self.keepers[name].step(self.gradients[name])
            self.gradients[name].zero_()

    def parameters(self) -> dict[str, Tensor]:
        """All weights, gathered once more, under the names that they have in the model."""
        for layer in self.layers.values():
            self._gather(layer)
        whole = copies(self.model.named_parameters())
        for layer in self.layers.values():
            layer.forget()
        return whole

    def tensors(self) -> dict[str, list[Tensor]]:
        own, gradients = self.own.values(), self.gradients.values()
        return held_by(self.model, self.keepers.values(), weights=own, gradients=gradients)
