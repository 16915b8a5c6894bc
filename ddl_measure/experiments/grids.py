"""A step on a grid, three times: what it sends, how long it takes, and how long without numbers.

On real ranks bytes are the formula's, to the byte; seconds are the machine's. A step that only
takes time sends the same messages without the numbers: the pipeline's worker runs the trainer's
own schedule; a stage lets the time of its operations pass and sends Phantoms where the trainer
sends tensors: sums along tensor, keys and values along context, activations along the pipeline,
gradients along data. `theory.grids.seconds` says the same in one formula. What to look at: the
timeline's corners. The white ones are the bubble, and the long last row is the averaging. What is
between the pieces of work is what the axes' rings cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ddl_measure.repetitions import own_turns, slowest_in_turns
from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Machine
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm, Phantom, Run
from ddl_teach.networks.grid.axes import Axes, axes_of, sent_along
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.worker import PipelineWorker
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.layers import Layer, LayerStack, transformer
from ddl_teach.theory.grids.seconds import BACKWARD
from ddl_teach.theory.grids.sent import AxisBytes, micro_batch
from ddl_teach.theory.machine import Cluster

if TYPE_CHECKING:
    from ddl_teach.networks.grid.trainer import Trainer
    from ddl_teach.networks.models.loss import Batch

schedule_of = cache(one_f_one_b)  # all simulated ranks read the same one


def simulated_step(
    network: LayerStack, grid: Grid, cluster: Cluster, *, batch: int, micro_batches: int,
    itemsize: int = 2, memory: float = math.inf,
) -> Run:  # fmt: skip
    """A step on simulated ranks of this cluster, each with `memory` bytes. Results are the seconds
    that each rank took."""

    def step(comm: Comm) -> float:
        trainer = TimedTrainer(comm, network, grid, batch, micro_batches, itemsize)
        comm.barrier()
        begun = comm.now()
        trainer.step(None)
        return comm.now() - begun

    machine = Machine(flops=cluster.flops)
    return simulate(step, grid.ranks, network=cluster.network, machine=machine, trace=False,
                    memory=memory)  # fmt: skip


def simulated_seconds(network: LayerStack, grid: Grid, cluster: Cluster, **split: int) -> float:
    """The virtual time of such a step: that of the slowest rank."""
    seconds: list[float] = simulated_step(network, grid, cluster, **split).results
    return max(seconds)


def sent_in_a_step(
    comm: Comm, trainer: Trainer | TimedTrainer, batch: Any,
    known_as: Sequence[int] | None = None,
) -> AxisBytes:  # fmt: skip
    """Train on one batch; the bytes that this rank of the whole program sent along each axis.

    Where `comm` is a part of it, or has another order, its ranks are `known_as` others there.
    """
    grid, begun = trainer.axes.grid, len(comm.ledger.messages)
    trainer.backward(batch)
    averaging = len(comm.ledger.messages)
    trainer.update()
    here = {there: rank for rank, there in enumerate(known_as or range(comm.size))}
    messages = [entry._replace(peer=here[entry.peer]) for entry in comm.ledger.messages[begun:]]
    along = sent_along(grid, comm.rank, messages[: averaging - begun])
    along["data"] += sum(message.bytes for message in messages[averaging - begun :])
    return AxisBytes(**along)


def sent_on(comm: Comm, grid: Grid, *, batch: int, micro_batches: int, **sizes: int) -> AxisBytes:
    """The bytes of `sent_in_a_step` for a `gpt` of these sizes, on characters."""
    trainer, rows = _on_characters(comm, grid, batch, micro_batches, sizes)
    return sent_in_a_step(comm, trainer, rows)


def seconds_on(
    comm: Comm, grids: Sequence[Grid], *, batch: int, micro_batches: int, steps: int = 3,
    **sizes: int,
) -> list[float]:  # fmt: skip
    """The fastest of some steps on each grid, as this rank's clock saw it.

    Of a grid with fewer ranks several train side by side, each for itself.
    """
    times = []
    for grid in grids:
        part = comm.split(comm.rank // grid.ranks)
        trainer, rows = _on_characters(part, grid, batch, micro_batches, sizes)
        times.append(float(own_turns(part, [partial(trainer.step, rows)], steps).min()))
    return times


def in_turns(
    comm: Comm, grids: Mapping[Grid, int], *, batch: int, repetitions: int,
    known_as: Sequence[int], accelerator: float = 0.0, **sizes: int,
) -> tuple[dict[Grid, np.ndarray], dict[Grid, AxisBytes]]:  # fmt: skip
    """Seconds of the slowest rank in each step on each grid, the grids taking turns; and what this
    rank sends in a step.

    `grids` says into how many micro-batches each cuts its share. Of one with fewer ranks several
    train side by side, each on its own share of the batch, and what they send is not counted. With
    a described `accelerator`, of some operations a second, nothing is computed: the messages are
    real, and between them ranks sleep.
    """
    steps: dict[Grid, Callable[[], Any]] = {}
    along: dict[Grid, AxisBytes] = {}
    for grid, micro_batches in grids.items():
        share, whole = batch * grid.ranks // comm.size, comm.split(comm.rank // grid.ranks)
        trainer: Trainer | TimedTrainer
        rows: Any = None
        if accelerator:
            from ddl_teach.networks.models import data

            network = transformer(**sizes, vocabulary=len(data.ALPHABET))
            trainer = TimedTrainer(whole, network, grid, share, micro_batches, 4, accelerator)
        else:
            trainer, rows = _on_characters(whole, grid, share, micro_batches, sizes)
        steps[grid] = partial(trainer.step, rows)
        if grid.ranks == comm.size:
            along[grid] = sent_in_a_step(comm, trainer, rows, known_as)
    return slowest_in_turns(comm, steps, repetitions), along


def _on_characters(
    comm: Comm, grid: Grid, batch: int, micro_batches: int, sizes: dict[str, int]
) -> tuple[Trainer, Batch]:
    from ddl_teach.networks.grid.trainer import Trainer
    from ddl_teach.networks.models import data
    from ddl_teach.networks.models.gpt import gpt

    [rows] = data.batches(data.characters(sizes["length"]), batch, 1)
    return Trainer(comm, gpt(**sizes), grid, micro_batches=micro_batches), rows


class TimedTrainer:
    """One rank's part in a step, with the face of `trainer.Trainer`; no batch is looked at.

    On real ranks messages are as real as a trainer's; with `flops`, the operations a second of an
    accelerator that is described, computing is slept through, and else it is done.
    """

    def __init__(
        self, comm: Comm, network: LayerStack, grid: Grid, batch: int, micro_batches: int,
        itemsize: int, flops: float | None = None, state: int = 12,
    ) -> None:  # fmt: skip
        self.axes, stages = axes_of(comm, grid), network.stages(grid.pipeline)
        own, schedule = self.axes.place.pipeline, schedule_of(grid.pipeline, micro_batches)
        positions = network.length * micro_batch(batch, grid, micro_batches)
        stage = TimedStage(self.axes, positions, stages, itemsize, flops)
        self._worker = PipelineWorker(self.axes.pipeline, schedule, {(0, own): stage})
        weights = sum(layer.weights(grid.tensor, self.axes.place.tensor) for layer in stages[own])
        self._gradients = Phantom(weights * itemsize, itemsize)
        comm.hold(weights * itemsize, "weights")
        comm.hold(weights * itemsize, "gradients")
        comm.hold(weights * state, "states")

    def step(self, batch: None) -> None:
        self.backward(batch)
        self.update()

    def backward(self, batch: None) -> None:
        self._worker.step()

    def update(self) -> None:
        with self.axes.replicas.span("average gradients"):
            ring.allreduce(self.axes.replicas, self._gradients)


class TimedStage:
    """A stage of a pipeline, as `pipelines.worker.Stage` asks for."""

    def __init__(
        self, axes: Axes, positions: int, stages: Sequence[Sequence[Layer]], itemsize: int,
        flops: float | None,
    ) -> None:  # fmt: skip
        self._axes, self._layers, self._itemsize = axes, stages[axes.place.pipeline], itemsize
        self._flops = flops
        self._here = positions // axes.grid.context
        before = stages[axes.place.pipeline - 1][-1]
        self._input, self._output = self._room(before.output), self._room(self._layers[-1].output)

    def _room(self, numbers: float) -> Phantom:
        return Phantom(self._here * int(numbers) * self._itemsize, self._itemsize)

    def forward(self, micro_batch: int, x: Phantom | None) -> Phantom:
        """Layer after layer: its operations, its keys and values going round, its sums."""
        for layer in self._layers:
            self._pass(layer, layer.work, self._axes.context.size - 1, layer.sums_forward)
        return self._output

    def backward(self, micro_batch: int, gradient: Phantom | None) -> Phantom:
        """Work and messages from the last layer to the first; the gradients of keys and values go
        round too."""
        ranks = self._axes.context.size
        for layer in reversed(self._layers):
            hops = 2 * ranks - 1 if ranks > 1 else 0
            self._pass(layer, BACKWARD * layer.work, hops, layer.sums_backward)
        return self._input

    def _pass(self, layer: Layer, operations: float, hops: int, sums: Sequence[int]) -> None:
        tensor, context, place = self._axes.tensor, self._axes.context, self._axes.place
        own = operations * self._here / tensor.size
        if self._flops is None:
            tensor.work(flops=own)
        else:
            tensor.work(seconds=own / self._flops)
        if layer.heads and hops:
            block = self._room(layer.keys_and_values(self._axes.grid.tensor, place.tensor))
            left, right = (context.rank - 1) % context.size, (context.rank + 1) % context.size
            for _ in range(hops):
                context.sendrecv(block, right, block, left)
        for numbers in sums:
            ring.allreduce(tensor, self._room(numbers))

    def kept_bytes(self, micro_batch: int) -> int:
        tensor = self._axes.tensor.size
        each = sum(layer.kept + layer.kept_split / tensor for layer in self._layers)
        return round(self._here * each * self._itemsize)

    def room_for_input(self, micro_batch: int) -> Phantom:
        return self._input

    def room_for_gradient(self, micro_batch: int) -> Phantom:
        return self._output
