"""A step on a grid that only takes time: the same messages without the numbers.

The pipeline's worker runs the trainer's own schedule; a stage lets the time of its operations pass
and sends Phantoms where the trainer sends tensors: sums along tensor, keys and values along
context, activations along the pipeline, gradients along data. What takes how long is the network's
and the machine's business (`simulate`); `theory.grids.seconds` says the same in one formula.
What to look at: the timeline's corners. The white ones are the bubble, the long last row is the
averaging, and what is between the pieces of work is what the axes' rings cost.
"""

from collections.abc import Sequence

from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm, Phantom
from ddl_teach.networks.grid.axes import Axes, axes_of
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.worker import PipelineWorker
from ddl_teach.theory.grids.grid import Cluster, Grid
from ddl_teach.theory.grids.layers import Layer, LayerStack
from ddl_teach.theory.grids.seconds import BACKWARD
from ddl_teach.theory.grids.sent import micro_batch


def simulated_seconds(
    network: LayerStack, grid: Grid, cluster: Cluster, *, batch: int, micro_batches: int,
    itemsize: int = 2,
) -> float:  # fmt: skip
    """The virtual time of a step on simulated ranks of this cluster: that of the slowest."""
    ground = TwoLevel(
        cluster.ranks_per_node,
        Uniform(cluster.latency_inside, 1 / cluster.per_byte_inside),
        Uniform(cluster.latency_between, 1 / cluster.per_byte_between),
    )
    schedule = one_f_one_b(grid.pipeline, micro_batches)  # all ranks read the same one

    def step(comm: Comm) -> float:
        trainer = TimedTrainer(comm, network, grid, schedule, batch=batch, itemsize=itemsize)
        comm.barrier()
        begun = comm.now()
        trainer.step()
        return comm.now() - begun

    machine = Machine(flops=cluster.flops)
    run = simulate(step, grid.ranks, network=ground, machine=machine, trace=False)
    return max(run.results)


class TimedTrainer:
    """One rank's part in a step, with the face of `trainer.Trainer`; no batch is looked at.

    On real ranks messages are as real as a trainer's; with `flops`, the operations a second of an
    accelerator that is described, computing is slept through, and else it is done.
    """

    def __init__(
        self, comm: Comm, network: LayerStack, grid: Grid, schedule: Schedule, *,
        batch: int, itemsize: int = 4, flops: float | None = None,
    ) -> None:  # fmt: skip
        self.axes, stages = axes_of(comm, grid), network.stages(grid.pipeline)
        own = self.axes.place.pipeline
        positions = network.length * micro_batch(batch, grid, schedule.micro_batches)
        stage = TimedStage(self.axes, positions, stages, itemsize, flops)
        self._worker = PipelineWorker(self.axes.pipeline, schedule, {(0, own): stage})
        weights = sum(layer.weights(grid.tensor, self.axes.place.tensor) for layer in stages[own])
        self._gradients = Phantom(weights * itemsize, itemsize)

    def step(self, batch: None = None) -> None:
        self.backward(batch)
        self.update()

    def backward(self, batch: None = None) -> None:
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
            self._work(layer.work)
            self._go_round(layer, self._axes.context.size - 1)
            self._sum(layer.sums_forward)
        return self._output

    def backward(self, micro_batch: int, gradient: Phantom | None) -> Phantom:
        """The same from the last layer to the first; the gradients of blocks go round behind."""
        for layer in reversed(self._layers):
            self._work(BACKWARD * layer.work)
            ranks = self._axes.context.size
            self._go_round(layer, 2 * ranks - 1 if ranks > 1 else 0)
            self._sum(layer.sums_backward)
        return self._input

    def _work(self, operations: float) -> None:
        own = operations * self._here / self._axes.tensor.size
        if self._flops is None:
            self._axes.tensor.work(flops=own)
        else:
            self._axes.tensor.work(seconds=own / self._flops)

    def _go_round(self, layer: Layer, hops: int) -> None:
        if layer.heads and hops:
            context, place = self._axes.context, self._axes.place
            block = self._room(layer.keys_and_values(self._axes.grid.tensor, place.tensor))
            left, right = (context.rank - 1) % context.size, (context.rank + 1) % context.size
            for _ in range(hops):
                context.sendrecv(block, right, block, left)

    def _sum(self, sums: Sequence[int]) -> None:
        for numbers in sums:
            ring.allreduce(self._axes.tensor, self._room(numbers))

    def room_for_input(self, micro_batch: int) -> Phantom:
        return self._input

    def room_for_gradient(self, micro_batch: int) -> Phantom:
        return self._output
