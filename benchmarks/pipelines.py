"""GPipe and 1F1B beside torch.distributed.pipelining and ShallowSpeed, in one run; and the bubble.

    python -m benchmarks.pipelines [--ranks 2 4] [--repetitions 21] [--shallowspeed FOLDER]

Everybody trains the same layers on the same batch with the same number of micro-batches on the
same processes: gradients to nothing, all passes, a plain update. Ours is the worker with torch's
gradients, and once more with derivatives by hand (`dense_stage`). Its gradients and those of
torch's pipeline (gloo) are compared first. All take each turn, in an order that rotates; a time is
that of the slowest rank, shown are medians with nonparametric 95% intervals.

By hand a backward pass is its two halves: the gradient of the input leaves before the weights'
products begin. These are one product for all micro-batches in GPipe, which keeps all anyway. In
1F1B they are one for as many as there are ranks, and as many more are kept.
`no messages` is a step of the same passes on all ranks at once, and a barrier: the limit of each
way on this machine. What a row has above it is messages, waiting, and the bubble.

FOLDER is a copy of the public repository siboehm/ShallowSpeed (NumPy over MPI): then its own
worker takes each turn as well, with its sizes, its batch of 128, and data of the same shape. Its
loss is a squared error of a softmax, of which it computes the gradient only; it computes the
gradient of the network's input too.

The bubble: the share of a step in which ranks do not compute, for stages that sleep through 8 ms
of forward and 16 ms of backward (accelerators compute so), beside the formula.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import types
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ddl_measure.experiments.pipelines import PassSeconds, timed
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm, Ranks
from ddl_teach.networks.pipelines import instructions as do
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.theory import pipelines as theory

RESULTS = Path(__file__).parent / "results" / "pipelines.txt"
SHALLOWSPEED = (784, 128, 127, 126, 125, 124, 123, 10)  # its layers, from its train.py
WORKLOADS = {  # sizes of the layers, rows of a batch, micro-batches
    "8 layers of 256": ((256,) * 8 + (10,), 128, 8),
    "8 layers of 512": ((512,) * 8 + (10,), 256, 8),
    "ShallowSpeed's": (SHALLOWSPEED, 128, 4),
}
SCHEDULES = {"GPipe": gpipe, "1F1B": one_f_one_b}
SLEEP = PassSeconds(forward=8e-3, backward_input=8e-3, backward_weight=8e-3)
Steps = dict[str, Callable[[], Any]]


def contestants(comm: Comm, sizes: tuple[int, ...], rows: int, parts: int, folder: str) -> Steps:
    """By name: one step of training on this rank. Gradients are compared here."""
    import torch
    from torch.distributed import pipelining

    from benchmarks.dense_stage import DenseStage
    from ddl_teach.networks.models.loss import mean_loss
    from ddl_teach.networks.models.mlp import mlp
    from ddl_teach.networks.pipelines.torch_stage import TorchStage, cut

    torch.set_num_threads(1)
    meet(comm, folder)
    torch.manual_seed(0)
    inputs, targets = torch.randn(rows, sizes[0]), torch.randint(sizes[-1], (rows,))
    first, last = comm.rank == 0, comm.rank == comm.size - 1
    steps: Steps = {}
    for name, schedule in SCHEDULES.items():
        order = schedule(comm.size, parts)
        by_hand = partial(DenseStage, together=parts if name == "GPipe" else comm.size)
        ours = {
            "ours": _ours(comm, order, TorchStage, sizes, (inputs, targets)),
            "ours, by hand": _ours(comm, halved(order), by_hand, sizes, (inputs, targets)),
        }
        layers = cut(mlp(sizes), comm.size)[comm.rank]
        theirs = list(layers.parameters())
        one = pipelining.PipelineStage(layers, comm.rank, comm.size, torch.device("cpu"))
        kind = {"GPipe": pipelining.ScheduleGPipe, "1F1B": pipelining.Schedule1F1B}[name]
        torchs = kind(one, parts, loss_fn=mean_loss)

        def their_step(theirs=theirs, torchs=torchs) -> None:
            forget(theirs)
            torchs.step(*([inputs] if first else []), **({"target": targets} if last else {}))
            descend(theirs)

        their_step()
        for way, (stage, our_step, alone) in ours.items():
            our_step()
            for mine, other in zip(stage.layers.parameters(), layers.parameters(), strict=True):
                torch.testing.assert_close(mine.grad, other.grad, rtol=1e-3, atol=1e-6)
            steps[f"{name}, {way}"] = our_step
            steps[f"{name}, {way}, no messages"] = alone
        steps[f"{name}, torch"] = their_step
    return steps


def halved(order: Schedule) -> Schedule:
    """The same with backward passes in halves: the input's, which leaves, then the weights'."""

    def passes(rank: int) -> list[do.Instruction]:
        return list(chain.from_iterable(
            (kind(word.stage, word.micro_batch) for kind in HALVES.get(type(word), [type(word)]))
            for word in order.computation(rank)
        ))  # fmt: skip

    orders = [passes(rank) for rank in range(order.ranks)]
    return with_messages(order.name, order.micro_batches, order.placement, orders)


HALVES = {do.Backward: (do.BackwardInput, do.BackwardWeight)}


def _ours(comm: Comm, order: Any, kind: Any, sizes: tuple[int, ...], batch: tuple) -> tuple:
    """A stage of this kind, the step of a worker that holds it, and this step's passes alone."""
    from ddl_teach.networks.models.mlp import mlp
    from ddl_teach.networks.pipelines.train_pipeline import stages_of
    from ddl_teach.networks.pipelines.worker import PipelineWorker

    stages = stages_of(comm, mlp(sizes), order, batch[0], kind=kind)
    [stage] = stages.values()
    weights = list(stage.layers.parameters())
    worker = PipelineWorker(comm, order, stages, update=lambda: descend(weights))

    def step() -> None:
        forget(weights)
        stage.load(batch, order.micro_batches)
        worker.step()

    ways = {
        do.Forward: lambda m: stage.forward(m, full(stage.room_for_input(m), 1)),
        do.Backward: lambda m: stage.backward(m, came_back(m)),
        do.BackwardInput: lambda m: stage.backward_input(m, came_back(m)),
        do.BackwardWeight: stage.backward_weight,
    }

    def came_back(micro_batch: int) -> Any:
        """No weight moves by it; the last stage has its loss."""
        last = comm.rank == comm.size - 1
        return None if last else full(stage.room_for_gradient(micro_batch), 0)

    def alone() -> None:
        forget(weights)
        stage.load(batch, order.micro_batches)
        for word in order.computation(comm.rank):
            ways[type(word)](word.micro_batch)
        descend(weights)
        comm.native.barrier()

    return stage, step, alone


def full(room: Any, number: float) -> Any:
    """The room, with this number in all places."""
    room[...] = number
    return room


def forget(weights: list[Any]) -> None:
    """No gradients yet."""
    for weight in weights:
        weight.grad = None


def descend(weights: list[Any]) -> None:
    """The plainest step there is, and ShallowSpeed's."""
    for weight in weights:
        weight.detach().sub_(weight.grad, alpha=0.006)


def meet(comm: Comm, folder: str) -> None:
    """Join torch's group of these ranks."""
    from torch import distributed

    if not distributed.is_initialized():
        store = distributed.FileStore(f"{folder}/gloo", comm.size)
        distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)


def shallowspeeds(comm: Comm, sizes: tuple[int, ...], rows: int, parts: int, copy: str) -> Steps:
    """The steps of ShallowSpeed's own worker, on random data of the shape of its own."""
    sys.path.insert(0, copy)
    # It reads its data with pandas; here they are made, so a name in its place will do.
    sys.modules.setdefault("pandas", types.ModuleType("pandas"))
    from mpi4py import MPI
    from shallowspeed import pipe
    from shallowspeed.dataset import Dataset
    from shallowspeed.layers import MLP
    from shallowspeed.optimizer import SGD

    alone, everybody = MPI.COMM_WORLD.Split(comm.rank), MPI.COMM_WORLD.Dup()
    model = MLP(list(sizes), stage_idx=comm.rank, n_stages=comm.size, batch_size=rows)
    model.train()
    for weight in model.parameters():  # NumPy 2 makes float64 of them, its buffers are float32
        weight.data = weight.data.astype(np.float32)
    data = Dataset(Path(copy), rows, rows // parts)
    data.local_batch_size = rows
    numbers = np.random.default_rng(0)
    data.input_X = numbers.standard_normal((rows, sizes[0]), np.float32)
    data.target_y = np.eye(sizes[-1], dtype=np.float32)[numbers.integers(sizes[-1], size=rows)]
    worker = pipe.Worker(alone, everybody, model, data, SGD(model.parameters(), lr=0.006))
    sizes_of = {"num_micro_batches": parts, "num_stages": comm.size, "stage_id": comm.rank}
    # Its class for 1F1B is a name only, so far.
    return {"GPipe, ShallowSpeed": lambda: worker.execute(pipe.GPipeSchedule(**sizes_of), 0)}


def measure(comm: Comm, repetitions: int, folder: str, copy: str | None) -> dict[str, dict]:
    """Seconds of every step, by workload and name, on this rank."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for workload, (sizes, rows, parts) in WORKLOADS.items():
        steps = contestants(comm, sizes, rows, parts, folder)
        if copy and sizes == SHALLOWSPEED:
            steps |= shallowspeeds(comm, sizes, rows, parts, copy)
        found[workload] = side_by_side(
            steps, repetitions=repetitions, warm_up=3, before=comm.native.barrier
        )
    return found


def table(ranks: int, per_rank: list[dict[str, dict]]) -> str:
    """One line for each workload and way, with the ratio of medians to torch's same schedule."""
    lines = [f"{ranks} ranks", f"  {'':<34}{'ms a step':>10}{'95% interval':>20}"
             f"{'samples/s':>12}{'/ torch':>9}"]  # fmt: skip
    for workload, (_, rows, parts) in WORKLOADS.items():
        lines.append(f"  {workload}, batch of {rows} in {parts} micro-batches")
        slowest = {
            name: np.max([own[workload][name] for own in per_rank], axis=0)
            for name in per_rank[0][workload]
        }
        for name, times in slowest.items():
            median, low, high = (1e3 * one for one in interval(times))
            torchs = 1e3 * float(np.median(slowest[f"{name.partition(',')[0]}, torch"]))
            between = f"{low:.2f} to {high:.2f}"
            lines.append(
                f"    {name:<34}{median:>8.2f}{between:>20}{1e3 * rows / median:>12,.0f}"
                f"{median / torchs:>9.2f}"
            )
    return "\n".join(lines)


def bubble(comm: Comm, repetitions: int) -> dict[tuple[str, int], float]:
    """The idle share of a step, the least of some repetitions, by schedule and micro-batches."""
    found = {}
    for name, schedule in SCHEDULES.items():
        for parts in (1, 2, 4, 8, 16):
            took = []
            for _ in range(repetitions):
                comm.native.barrier()
                begun = time.perf_counter()
                timed(comm, schedule(comm.size, parts), SLEEP)
                comm.native.barrier()
                took.append(time.perf_counter() - begun)
            found[name, parts] = 1 - parts * (SLEEP.forward + SLEEP.backward) / min(took)
    return found


def bubbles(ranks: int, per_rank: list[dict[tuple[str, int], float]]) -> str:
    """Measured beside the formula."""
    lines = [f"bubble on {ranks} ranks: idle share", f"  {'micro-batches':<16}{'formula':>9}"
             + "".join(f"{name:>9}" for name in SCHEDULES)]  # fmt: skip
    for parts in sorted(set(chain(number for _, number in per_rank[0]))):
        formula = theory.gpipe(ranks, parts, SLEEP.forward, SLEEP.backward).idle
        shown = [max(own[name, parts] for own in per_rank) for name in SCHEDULES]
        lines.append(f"  {parts:<16}{formula:>9.3f}" + "".join(f"{one:>9.3f}" for one in shown))
    return "\n".join(lines)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--shallowspeed", metavar="FOLDER")
    chosen = parser.parse_args()
    parts = [heading(describe())]
    for count in chosen.ranks:
        with Ranks(count) as ranks, tempfile.TemporaryDirectory() as folder:
            given: dict[str, Any] = {"repetitions": chosen.repetitions, "folder": folder}
            given |= {"copy": chosen.shallowspeed, "timeout": 900, "trace": False}
            parts.append(table(count, ranks.run(measure, **given).results))
            print(parts[-1], flush=True)
            given = {"repetitions": 3, "timeout": 300, "trace": False}
            parts.append(bubbles(count, ranks.run(bubble, **given).results))
            print(parts[-1], flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
