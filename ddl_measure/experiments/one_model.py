"""One GPT trained by every way of splitting it: the loss curve must be that of one process.

A way takes a communicator, the whole model and the whole batches. It returns this rank's part of
each batch's loss: the parts of all ranks add up to the batch's. All ways take Adam at one rate.
What to look at: the curves are one curve, and `Run.ledger` says what each way sent for it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

import torch
from torch import Tensor, nn

from ddl_teach.collectives import hierarchical, on_devices
from ddl_teach.comm import Comm
from ddl_teach.networks import twin
from ddl_teach.networks.both_ways import sum_gradients
from ddl_teach.networks.context.gathering import gathering_attention
from ddl_teach.networks.context.layouts import contiguous
from ddl_teach.networks.context.ring_attention import ring_attention
from ddl_teach.networks.context.ulysses import ulysses
from ddl_teach.networks.data_parallel import train_replicas
from ddl_teach.networks.data_parallel.averaging import AllReduce
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.shards import own_part, weighted_loss
from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.experts.spread import Places, spread_experts
from ddl_teach.networks.grid.trainer import Trainer
from ddl_teach.networks.memory import train_sharded
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.models.gpt import Attention, Embedding
from ddl_teach.networks.models.loss import Batch, mean_loss
from ddl_teach.networks.models.seeds import seeded_network
from ddl_teach.networks.pipelines import train_pipeline
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.interleaved import interleaved
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble
from ddl_teach.networks.tensor.gpt import split_gpt
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.training.optimizers.adam import Adam

RATE, MICRO_BATCHES = 1e-3, 4
ADAM = partial(torch.optim.Adam, lr=RATE)
Batches = Sequence[Batch]
Losses = list[float]
Way = Callable[[Comm, nn.Sequential, Batches], Losses]


def data(
    comm: Comm, model: nn.Sequential, batches: Batches, pieces: int = 1,
    allreduce: AllReduce = on_devices.allreduce,
) -> Losses:  # fmt: skip
    """Each rank has its texts, in `pieces` pieces one after another."""
    bucket = fill(model.to(comm.device).parameters(), inf)

    def backward(error: Tensor) -> None:
        error.backward()  # type: ignore[no-untyped-call]
        average_buckets(comm, bucket, allreduce)

    trained = train_replicas.train(comm, model, batches, backward, pieces=pieces, optimizer=ADAM)
    return [loss / comm.size for loss in trained.losses]


def sharded(comm: Comm, model: nn.Sequential, batches: Batches, stage: int = 3) -> Losses:
    """Each rank has its texts, and from stage 3 on its part of the weights."""
    return train_sharded.train(comm, stage, model, batches, resident(Adam(RATE))).losses


def tensor(comm: Comm, model: nn.Sequential, batches: Batches, sequence: bool = False) -> Losses:
    """Each rank has its heads, columns and words; with `sequence` its positions between them."""
    loss = split_gpt(model.to(comm.device), comm, sequence=sequence)
    trained = twin.train(model, batches, loss=loss, optimizer=ADAM)
    return [error / comm.size for error in trained.losses]


def pipeline(
    comm: Comm, model: nn.Sequential, batches: Batches,
    schedule: Callable[[int, int], Schedule] = one_f_one_b,
) -> Losses:  # fmt: skip
    """Each rank has its blocks."""
    turns = schedule(comm.size, MICRO_BATCHES * -(-comm.size // MICRO_BATCHES))
    own = train_pipeline.train(comm, model, batches, turns, optimizer=ADAM).replicas.values()
    return [sum(losses) for losses in zip(*(replica.losses for replica in own), strict=True)]


def context(
    comm: Comm, model: nn.Sequential, batches: Batches,
    attention: Callable[..., Tensor] = ring_attention,
) -> Losses:  # fmt: skip
    """Each rank has its positions of all texts."""
    positions = contiguous(batches[0][0].shape[1], comm.size)
    own = positions[comm.rank]
    for module in model.to(comm.device).modules():
        if isinstance(module, Attention):
            module.attend = partial(attention, comm, positions=positions)
        elif isinstance(module, Embedding):
            module.positions = own.to(comm.device)
    sum_gradients(comm, model.parameters())
    return _trained(model, [(x[:, own], y[:, own]) for x, y in batches], batches[0][1].numel())


def experts(
    comm: Comm, model: nn.Sequential, batches: Batches, places: Places | None = None
) -> Losses:
    """Each rank has its experts of a model `with_experts`, and its texts. `places` may list copies
    of an expert on several ranks."""
    spread_experts(model.to(comm.device), comm, places)
    return _trained(model, [own_part(comm, batch) for batch in batches], batches[0][1].numel())


def with_experts(model: nn.Sequential, count: int = 8) -> nn.Sequential:
    """A GPT with a mixture of `count` experts behind its blocks."""
    *blocks, norm, head = model.named_children()
    width = next(model.parameters()).shape[1]  # of the characters' vectors
    mixture = MixtureOfExperts(width, 4 * width, count)
    return seeded_network(dict([*blocks, ("experts", mixture), norm, head]), 0)


def on_grid(comm: Comm, model: nn.Sequential, batches: Batches, grid: Grid) -> Losses:
    """Each rank has its place: texts, blocks, heads and positions at once."""
    trainer = Trainer(comm, model, grid, micro_batches=1 + (grid.pipeline > 1), optimizer=ADAM)
    return [trainer.step(batch) for batch in batches]


def _trained(model: nn.Sequential, parts: Batches, answers: int) -> Losses:
    """The losses of training on this rank's parts of batches with `answers` answers each."""
    loss = partial(weighted_loss, mean_loss, answers=answers, ranks=1)
    return twin.train(model, parts, loss=loss, optimizer=ADAM).losses


WAYS: dict[str, Way] = {
    "data": data,
    "data, in pieces": partial(data, pieces=MICRO_BATCHES),
    "data, by parts over nodes": partial(data, allreduce=hierarchical.allreduce),
    **{f"stage {stage}": partial(sharded, stage=stage) for stage in (1, 2, 3)},
    "tensor": tensor,
    "tensor and sequence": partial(tensor, sequence=True),
    "ring": context,
    "gathered keys": partial(context, attention=gathering_attention),
    "Ulysses": partial(context, attention=ulysses),
    "GPipe": partial(pipeline, schedule=gpipe),
    "1F1B": pipeline,
    "zero bubble": partial(pipeline, schedule=zero_bubble),
    "interleaved": partial(pipeline, schedule=interleaved),
}
