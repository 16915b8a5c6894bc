"""The learner's algorithms beside those of torch.distributed, over gloo.

    race         the ladder of data parallelism beside DistributedDataParallel
    gossip       a step of gossip by torch's messages
    by_hooks     DDP's communication hooks beside our forms, on the same gradients
    local_fits   local SGD by torch's averager beside the learner's own, on the same samples

What to look at: ratios within one run, as the times themselves are this machine's; how far from
the exact mean is what arrives; and that averaged weights are the same to the last digits.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ddl_class.notebook import gloo
from ddl_class.notebook.timing import stopwatch
from ddl_teach.collectives import ring, tree
from ddl_teach.comm import Comm
from ddl_teach.training.compression.averaging import averager
from ddl_teach.training.compression.half import Half
from ddl_teach.training.compression.powersgd import PowerSGD
from ddl_teach.training.tasks.task import offsets

Vector = np.ndarray
Shapes = tuple[tuple[int, ...], ...]
WARM_UP = 2  # turns that do not count


def race(comm: Comm, make: Callable[[], Any], batch: tuple, turns: int = 13) -> dict[str, Any]:
    """Seconds of each turn's step, by way, on this rank; `make()` is a network.

    All train it on the same samples and take turns, so that a disturbance hits all alike.
    """
    from ddl_teach.networks.data_parallel.ladder import rungs, step_of

    ways = {**rungs(comm, make, len(batch[0])), "torch's DDP": gloo.data_parallel(comm, make())}
    steps = [step_of(*way, batch) for way in ways.values()]
    times = stopwatch(comm, [0], steps, turns + WARM_UP)[WARM_UP:, :, 0]
    return dict(zip(ways, np.transpose(times), strict=True))


def gossip(comm: Comm, x: Vector, matrix: np.ndarray) -> None:
    """`x` becomes the sum over all ranks j of matrix[rank, j] * (x of rank j), in place.

    `batch_isend_irecv` begins a list of messages together: in whatever order they stand in it, no
    rank waits for one that waits. `training.distribution.neighbours.mix` does it by our verbs.
    """
    from torch import empty_like, from_numpy
    from torch.distributed import P2POp, batch_isend_irecv, irecv, isend

    gloo.allreduce(comm, np.zeros(1))  # torch's ranks meet
    me, mine = comm.rank, from_numpy(x.copy())
    sources, targets = (np.flatnonzero(links).tolist() for links in (matrix[me], matrix[:, me]))
    heard = {source: empty_like(mine) for source in sources if source != me}
    calls = [P2POp(isend, mine, to) for to in targets if to != me]
    calls += [P2POp(irecv, into, source) for source, into in heard.items()]
    for call in batch_isend_irecv(calls) if calls else []:
        call.wait()
    x *= matrix[me, me]
    for source, theirs in heard.items():
        x += matrix[me, source] * theirs.numpy()


# -- hooks: DDP hands them each bucket of gradients, and takes what they make of it for the mean

POWER = {  # a matrix of rank 4 for every layer that has more numbers than that, and no memory
    "matrix_approximation_rank": 4,
    "min_compression_rate": 1,
    "use_error_feedback": False,
    "start_powerSGD_iter": 2,
}


def by_hooks(
    comm: Comm, gradients: Sequence[Vector], shapes: Shapes, tries: int = 8
) -> dict[str, tuple[float, float]]:
    """For each compressor two distances from the mean of all ranks' `gradients`: that of our
    result, and that of torch's hook.

    `shapes` are those of the layers that the vectors consist of. PowerSGD begins each guess where
    the last one ended, so both try several times with the same gradients, without a memory.
    """
    exact, own = np.mean(gradients, axis=0), gradients[comm.rank]
    off = {}
    for name, form, hook, settings in (
        ("float16", Half(), "fp16_compress_hook", {}),
        ("PowerSGD", PowerSGD(4, shapes), "powerSGD_hook", POWER),
    ):
        average = averager(comm, form, own.size, ring.allreduce)
        for _ in range(tries):
            average(ours := own.copy())
        theirs = _mean_by_hook(comm, own, shapes, hook, settings, tries)
        apart = (np.linalg.norm(each - exact) for each in (ours, theirs))
        off[name] = tuple(float(each / np.linalg.norm(exact)) for each in apart)
    return off


def _mean_by_hook(
    comm: Comm,
    gradient: Vector,
    shapes: Shapes,
    hook: str,
    settings: Mapping[str, Any],
    tries: int,
) -> Vector:
    """What DistributedDataParallel makes of the ranks' gradients with that hook."""
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    parts = torch.from_numpy(gradient).split([b - a for a, b in pairwise(offsets(shapes))])
    wanted = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    class Carrier(torch.nn.Module):
        """Its parameters' gradients are `wanted`: of the loss sum(w g) the gradient by w is g."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ParameterList(torch.zeros(shape) for shape in shapes)

        def forward(self) -> torch.Tensor:
            return sum((w * g).sum() for w, g in zip(self.layers, wanted, strict=True))

    network, backward = gloo.data_parallel(comm, Carrier())
    state = powerSGD_hook.PowerSGDState(None, **settings) if settings else None
    network.register_comm_hook(state, getattr(powerSGD_hook if settings else default_hooks, hook))
    for _ in range(tries):
        network.zero_grad()
        backward(network())
    return torch.cat([w.grad.ravel() for w in network.module.layers]).numpy()


# -- local SGD of a linear fit -------------------------------------------------------------

Local = Callable[[Comm, Vector, Vector, Vector, float, int], None]
"""`local(comm, weights, inputs, answers, rate, period)`: a step a sample, weights in place."""

SIZE, PERIOD, STEPS, RATE = 3, 4, 16, 0.1


def local_fits(comm: Comm, local: Local) -> tuple[Vector, Vector]:
    """What the weights of a linear fit become by `local`, and by torch."""
    drawn = np.random.default_rng(comm.rank)
    samples = drawn.standard_normal((STEPS, SIZE)), drawn.standard_normal(STEPS)
    ours, theirs = np.zeros(SIZE), np.zeros(SIZE)
    for way, weights in ((local, ours), (local_by_torch, theirs)):
        way(comm, weights, *samples, RATE, PERIOD)
    return ours, theirs


def local_by_torch(
    comm: Comm, weights: Vector, inputs: Vector, answers: Vector, rate: float, period: int
) -> None:
    """Local SGD by torch's PeriodicModelAverager and torch's derivatives.

    It averages nothing before its `warmup_steps` are over, since DistributedDataParallel averages
    gradients there (Lin, Stich, Patel and Jaggi, "Don't use large mini-batches, use local SGD",
    ICLR 2020: post-local SGD); with period - 1 of them it is local SGD from the start.
    """
    import torch
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

    gloo.allreduce(comm, np.zeros(1))  # torch's ranks meet
    fitted = torch.nn.Parameter(torch.from_numpy(weights))
    average = PeriodicModelAverager(period, warmup_steps=period - 1)
    for x, y in zip(torch.from_numpy(inputs), answers, strict=True):
        fitted.grad = None
        (0.5 * (x @ fitted - y) ** 2).backward()
        fitted.data -= rate * fitted.grad
        average.average_parameters([fitted])
    weights[:] = fitted.detach()  # an average is put into memory of its own


def local_by_hand(
    comm: Comm, weights: Vector, inputs: Vector, answers: Vector, rate: float, period: int
) -> None:
    """Local SGD in plain lines, in the place of the learner's until theirs is right."""
    for step, (x, y) in enumerate(zip(inputs, answers, strict=True), start=1):
        weights -= rate * (x @ weights - y) * x
        if step % period == 0 or step == len(inputs):
            tree.allreduce(comm, weights)
            weights /= comm.size
