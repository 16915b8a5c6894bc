"""One of each: a consistency, a distribution, a compressor; and a rule, and a task.

    train(comm, Digits(), Synchronous(), AllReduce("ring"), Dense(), SGD(0.3), steps=100)

It is a rank program: every rank opens the distribution; servers serve until all have left, the
others train as the consistency says. What to look at: it has no case for any of its parts.

A gradient's way: `consistency.run` asks `worker.gradient` (`consistency.worker`) for it and gives
it to the handle, as in `handle.average(gradient)`. The handle is the distribution's own, here of
`distribution.all_reduce`. It calls `compression.averaging`, which encodes and calls a collective.
Then `worker.update` changes the weights by the rule.
"""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.handles import Dedicated, ServerReport, SyncHandle
from ddl_teach.training.consistency.worker import Pace, Worker
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.refusals import refusal
from ddl_teach.training.tasks.task import Trainable, placed

OwnHandle = TypeVar("OwnHandle", bound=SyncHandle)


@dataclass(frozen=True)
class Result:
    """What one rank has of a training. A worker has its number, the weights that the consistency
    calls its result, and its diary (`consistency.worker`). Without servers `staleness` counts the
    steps of others before each update. A rank that only serves has a `report` and no weights."""

    worker: int | None
    weights: np.ndarray | None
    losses: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    bytes: tuple[int, ...] = ()
    staleness: tuple[int, ...] = ()
    total_seconds: float = 0.0
    total_bytes: int = 0
    report: ServerReport | None = None


def train(
    comm: Comm,
    task: Trainable,
    consistency: Consistency[OwnHandle],
    # What all-reduce offers, averaging, is what the default is for.
    distribution: Distribution[OwnHandle] = AllReduce(),  # type: ignore[assignment]
    compressor: Compressor = Dense(),
    update: Update = SGD(0.1),
    steps: int = 100,
    pace: Pace | None = None,
) -> Result:
    """Train `task` with `steps` gradients for each worker; all ranks call it with equal arguments.
    `pace(worker, step)` are more seconds that a gradient takes: a real rank sleeps so long, and on
    simulated ranks a gradient costs nothing else."""
    for name, given, kind, example in (
        ("task", task, Trainable, "Digits()"),
        ("consistency", consistency, Consistency, "Synchronous()"),
        ("distribution", distribution, Distribution, "AllReduce()"),
        ("compressor", compressor, Compressor, "Dense()"),
        ("update", update, Update, "SGD(0.1)"),
    ):
        if isinstance(given, type) or not isinstance(given, kind):
            raise TypeError(f"train: {name} must be one such as {name}={example}, not {given!r}")
    if reason := refusal(consistency, distribution, compressor, update):
        raise ValueError(reason)
    if steps < 0:
        raise ValueError(f"steps={steps}: a worker computes zero gradients or more")
    task = placed(task, comm.device)
    weights, begun, (_, entries) = task.initial(), comm.now(), comm.ledger.since(0)
    travelling, service = consistency.travels(task, weights), consistency.service(update)
    handle = distribution.open(comm, travelling, compressor, service)
    if isinstance(handle, Dedicated):
        result = Result(None, None, report=handle.serve())
    else:
        worker = Worker(comm, task, handle, update, weights, steps, pace)
        consistency.run(worker)
        report = handle.leave()
        result = Result(
            handle.worker, worker.weights, tuple(worker.losses), tuple(worker.seconds),
            tuple(worker.bytes), tuple(worker.staleness), report=report,
        )  # fmt: skip
    seconds, (sent, _) = comm.now() - begun, comm.ledger.since(entries)
    return replace(result, total_seconds=seconds, total_bytes=sent)
