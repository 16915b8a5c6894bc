"""Stage 0: every rank has the whole module, and averages in buckets during the backward pass.

The averages are `data_parallel.overlapped`'s; here any backward pass begins them. What the loss
of a pass did not depend on counts as zero, so ranks may go through different parts of the module;
what no rank came through keeps `.grad` None.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ddl_teach.comm import Comm
from ddl_teach.networks.any_module.clipping import check_limit
from ddl_teach.networks.any_module.passes import BackwardPasses, refuse_sparse
from ddl_teach.networks.data_parallel.averaging import trainable
from ddl_teach.networks.data_parallel.buckets import fill
from ddl_teach.networks.data_parallel.overlapped import Overlapped
from ddl_teach.networks.weak_hooks import weakly


class Replicas:
    """As DistributedDataParallel: every `.grad` is the average when `backward` returns."""

    def __init__(self, comm: Comm, module: nn.Module, nbytes: float) -> None:
        self._module = module
        self._averages = Overlapped(comm, fill(module.parameters(), nbytes))
        self.passes = BackwardPasses(self._averages.finish)
        for parameter in trainable(module.parameters()):
            parameter.register_hook(weakly(self._begin))  # type: ignore[no-untyped-call]

    def _begin(self, gradient: Tensor) -> None:
        refuse_sparse(gradient)
        if not self.passes.quiet and self.passes.arrived():
            self._averages.begin()

    def before_forward(self) -> None:
        """Forget a backward pass that ended with an error."""
        if self.passes.broken_off():
            self._averages.give_up()

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        return self._module.named_parameters()

    def clip(self, limit: float) -> float:
        """All ranks have the same gradients: nothing is sent."""
        parameters = trainable(self._module.parameters())
        check_limit(limit)
        return torch.nn.utils.clip_grad_norm_(parameters, limit).item()

    def cast(self, compute: torch.dtype) -> dict[str, Tensor]:
        """The weights in another type; their gradients come back to the weights themselves."""
        named = self._module.named_parameters()
        return {name: p.to(compute) for name, p in named if p.is_floating_point()}

    all_are_whole = True

    @contextmanager
    def whole(self, changed: bool = False) -> Iterator[None]:
        yield
