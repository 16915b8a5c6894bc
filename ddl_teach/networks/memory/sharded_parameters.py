"""Stage 3: also the weights are sharded; a layer is whole only while it is being computed.

    forward    all-gather the layer's weights, compute, forget them
    backward   all-gather them again, compute, reduce-scatter the gradients, forget both
    step       each rank updates the part that it owns; nothing is sent

Now everything that lasts is divided by P, and a rank sends 3 (P-1)/P of the weights instead of 2.
Rajbhandari, Rasley, Ruwase & He, "ZeRO", 2020 (its stage 3); Zhao et al., "PyTorch FSDP", 2023.
What to look at: the weights' memory is given back although the backward pass still refers to it.
"""

from collections import Counter
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
        refuse_shared(model)
        self.comm, self.model = comm, model
        self.layers = {layer.name: layer for layer in flat_layers(model)}
        self.own, self.gradients, self.keepers = {}, {}, {}
        for name, layer in self.layers.items():
            self.own[name] = split_evenly(layer.weights, comm.size)[comm.rank].clone()
            self.gradients[name] = torch.zeros_like(self.own[name])
            self.keepers[name] = keep(self.own[name])
            layer.when_complete(partial(self._sum, layer))
            layer.forget()
        hold(comm, self.tensors())

    def __call__(self, x: Tensor) -> Tensor:
        """The forward pass; each layer's weights are there only for its own."""
        for name, child in self.model.named_children():
            layer = self.layers.get(name)
            if layer is None:
                x = child(x)
                continue
            self._gather(layer)
            x = child(x)
            layer.forget()
            if x.requires_grad:  # gather again when the gradient of the layer's output is there
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


def refuse_shared(model: nn.Module) -> None:
    """Refuse a parameter of two layers: one layer would free it while the other still needs it."""
    owners = Counter(p for child in model.children() for p in set(child.parameters()))
    direct = dict(model.named_parameters(recurse=False))
    shared = [name for name, p in model.named_parameters() if owners[p] > 1]
    if shared or direct:
        advice = "put layers that share one into one child, or use stage 2"
        names = ", ".join([*shared, *direct])
        raise ValueError(f"{names}: each must be in exactly one child of the model: {advice}")
