"""Training a pruned network: the product stays dense, all that surrounds it is compressed.

Processors multiply dense matrices so well that the weights stay dense. But a zero that stays zero
needs no gradient, no master copy, no moments and no messages. As soon as autograd has a gradient,
the kept part is taken out and the rest given back; the all-reduce and the update see only vectors
of what is kept; then the new values go to their places in the dense weights.

    memory  b N + (2 b + K + 4) f N instead of (2 b + K) N      messages  2 (P-1)/P b f N

Singh & Bhatele, "Exploiting sparsity in pruned neural networks to optimize large model training",
2023. What to look at: the ranks train what one process trains that masks weights and gradients.
"""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.networks.memory.keeping import Keep
from ddl_teach.networks.memory.measured import held_by
from ddl_teach.networks.pruning.kept import compress, expand
from ddl_teach.networks.twin import copies


class Pruned:
    """Prunes the model; sums the gradients of the kept weights and updates them, as
    `memory.sharded_states`. `kept` are places by names; what is not named is kept whole."""

    def __init__(
        self, comm: Comm, model: nn.Module, kept: Mapping[str, Tensor], keep: Keep
    ) -> None:
        known = dict(model.named_parameters())
        if unknown := sorted(kept.keys() - known.keys()):
            raise ValueError(f"the model has no parameters {', '.join(unknown)} to prune")
        self.comm, self.model = comm, model
        whole = partial(torch.arange, dtype=torch.int32)
        self.pairs = [
            (parameter, kept.get(name, whole(parameter.numel(), device=parameter.device)))
            for name, parameter in known.items()
            if parameter.requires_grad
        ]
        self.values = torch.cat([compress(*pair) for pair in self.pairs])
        self.gradient = torch.zeros_like(self.values)
        self.keeper = keep(self.values)
        for (parameter, places), part in zip(self.pairs, self._parts(self.gradient), strict=True):
            parameter.register_post_accumulate_grad_hook(partial(_take, places, part))
        self._fill()

    def _parts(self, vector: Tensor) -> tuple[Tensor, ...]:
        return vector.split([len(places) for _, places in self.pairs])

    def _fill(self) -> None:
        parts = self._parts(self.values)
        for (parameter, places), values in zip(self.pairs, parts, strict=True):
            expand(values, places, out=parameter)

    def step(self) -> None:
        ring.allreduce(self.comm, self.gradient)
        self.keeper.step(self.gradient)
        self.gradient.zero_()
        self._fill()

    def parameters(self) -> dict[str, Tensor]:
        return copies(self.model.named_parameters())

    def tensors(self) -> dict[str, list[Tensor]]:
        places = [places for _, places in self.pairs]
        own = {"weights": [self.values], "gradients": [self.gradient], "states": places}
        return held_by(self.model, [self.keeper], **own)


def _take(places: Tensor, into: Tensor, parameter: nn.Parameter) -> None:
    """Add the kept part of a gradient to what is there, and give the dense one back."""
    into += compress(parameter.grad, places)
    parameter.grad = None
