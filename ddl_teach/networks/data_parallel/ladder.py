"""The ladder: ever better ways of averaging the same gradients, to be run side by side.

per parameter            K all-reduces after the backward pass
one bucket               one all-reduce after it
overlapped buckets       some, during it, by a ring in the background
overlapped native        the same with the MPI library's all-reduce
sufficient factors       of linear layers the factors of the gradients, gathered after it
shared weights           the same in memory that all ranks of a node see, where each updates its
                         part of the weights (not for a network on a device: it is the host's)

Each rung has a copy of the network and a backward pass that ends with averaged gradients. What to
look at: where every core computes, messages in the background take what they save in waiting.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from ddl_teach.collectives import on_devices
from ddl_teach.comm import Comm
from ddl_teach.networks.data_parallel.averaging import average_gradients
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.overlapped import BUCKET, Overlapped, in_background
from ddl_teach.networks.data_parallel.shared_weights import SharedWeights
from ddl_teach.networks.data_parallel.sufficient_factors import SufficientFactors
from ddl_teach.networks.data_parallel.train_replicas import Backward
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.loss import Batch, mean_loss

Rung = tuple[nn.Module, Backward]


def rungs(
    comm: Comm, make: Callable[[], nn.Module], rows: int, nbytes: float = BUCKET
) -> dict[str, Rung]:
    """For each rung, by its name: a network that `make` has made, and its backward pass, for at
    most `rows` samples on each rank. All ranks must call it."""
    native = in_background("native")
    ways: dict[str, Callable[[list[nn.Parameter]], Backward]] = {
        "per parameter": lambda own: _after(
            partial(average_gradients, comm, own, on_devices.allreduce)
        ),
        "one bucket": lambda own: _after(
            partial(average_buckets, comm, fill(own, float("inf")), on_devices.allreduce)
        ),
        "overlapped buckets": lambda own: Overlapped(comm, fill(own, nbytes)).backward,
        "overlapped native": lambda own: Overlapped(comm, fill(own, nbytes), native).backward,
    }
    networks = {name: make() for name in ways}
    made = {name: (own, ways[name](list(own.parameters()))) for name, own in networks.items()}
    network = make()
    factors = SufficientFactors(comm, network, rows, on_devices.allreduce)
    made["sufficient factors"] = network, factors.backward
    if next(network.parameters()).device.type == "cpu":
        shared = SharedWeights(comm, make(), rows)
        made["shared weights"] = shared, shared.backward
    return made


def step_of(
    network: nn.Module, backward: Backward, batch: Batch, rate: float = 0.01
) -> Callable[..., None]:
    """One whole step of training on this part of a batch; whatever it is called with."""
    optimizer = Descent(network.parameters(), rate)
    inputs, answers = batch

    def step(*_: object) -> None:
        optimizer.zero_grad()
        backward(mean_loss(network(inputs), answers))
        optimizer.step()

    return step


def _after(average: Callable[[], None]) -> Backward:
    def backward(error: torch.Tensor) -> None:
        error.backward()
        average()

    return backward
