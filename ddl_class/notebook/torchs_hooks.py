"""Communication hooks of torch's DistributedDataParallel beside our forms, on the same gradients.

Where a hook is registered DDP hands it each bucket of gradients, and takes what the hook makes of
it for the mean. So a hook is a form and an all-reduce in one. Here a network's gradient is any
vector one likes: of the loss sum(w g) the gradient by w is g. PowerSGD begins each guess where the
last one ended, so both sides may try several times with the same gradients, without a memory.
What to look at: how far from the exact mean is what arrives, in lengths of that mean.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ddl_class.notebook import gloo
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.training.compression.averaging import averager
from ddl_teach.training.compression.half import Half
from ddl_teach.training.compression.powersgd import PowerSGD
from ddl_teach.training.tasks.task import offsets

Shapes = tuple[tuple[int, ...], ...]


POWER = {  # a matrix of rank 4 for every layer that has more numbers than that, and no memory
    "matrix_approximation_rank": 4,
    "min_compression_rate": 1,
    "use_error_feedback": False,
    "start_powerSGD_iter": 2,
}


def side_by_side(
    comm: Comm, gradients: Sequence[np.ndarray], shapes: Shapes, tries: int = 8
) -> dict[str, tuple[float, float]]:
    """By form: how far from the mean of all ranks' `gradients` ours ends, and torch's hook.

    `shapes` are those of the layers that the vectors consist of.
    """
    exact, own = np.mean(gradients, axis=0), gradients[comm.rank]
    found = {}
    for name, form, hook, settings in (
        ("float16", Half(), "fp16_compress_hook", {}),
        ("PowerSGD", PowerSGD(4, shapes), "powerSGD_hook", POWER),
    ):
        average = averager(comm, form, own.size, ring.allreduce)
        for _ in range(tries):
            average(ours := own.copy())
        theirs = by_torch(comm, own, shapes, hook, settings, tries)
        apart = (np.linalg.norm(each - exact) for each in (ours, theirs))
        found[name] = tuple(float(each / np.linalg.norm(exact)) for each in apart)
    return found


def by_torch(
    comm: Comm,
    gradient: np.ndarray,
    shapes: Shapes,
    hook: str,
    settings: Mapping[str, Any],
    tries: int,
) -> np.ndarray:
    """What DistributedDataParallel makes of the ranks' gradients with that hook."""
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    parts = torch.from_numpy(gradient).split([b - a for a, b in pairwise(offsets(shapes))])
    wanted = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    class Carrier(torch.nn.Module):
        """Its parameters' gradients are `wanted`."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ParameterList(torch.zeros(shape) for shape in shapes)

        def forward(self) -> torch.Tensor:
            return sum((w * g).sum() for w, g in zip(self.layers, wanted, strict=True))

    network, backward = gloo.data_parallel(comm, Carrier())
    hooks: dict[str, Callable] = {
        "fp16_compress_hook": default_hooks.fp16_compress_hook,
        "powerSGD_hook": powerSGD_hook.powerSGD_hook,
    }
    state = powerSGD_hook.PowerSGDState(None, **settings) if settings else None
    network.register_comm_hook(state, hooks[hook])
    for _ in range(tries):
        network.zero_grad()
        backward(network())
    return torch.cat([w.grad.ravel() for w in network.module.layers]).numpy()
