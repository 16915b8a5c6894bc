"""One of each: WHEN ranks agree, along which PATH, in what FORM; and a rule, and a task.

    train(comm, Digits(), Synchronous(), AllReduce("ring"), Dense(), SGD(0.3), steps=100)

It is a rank program: on simulated ranks the same call trains in virtual time. Every rank opens the
path; those who are servers serve until all have left, the others train as the WHEN says.
What to look at: the trainer has no case for any WHEN, path or form.
"""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.form import Form
from ddl_teach.training.consistency.station import Dedicated, Shift, Station
from ddl_teach.training.consistency.when import When
from ddl_teach.training.consistency.worker import Pace, Worker
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.path import Path
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.refusals import refusal
from ddl_teach.training.tasks.task import Trainable

OwnStation = TypeVar("OwnStation", bound=Station)


@dataclass(frozen=True)
class Result:
    """What one rank has of a training.

    Of a worker: its number, the weights that the WHEN calls its result, and its diary, one entry
    for each gradient: the loss on its own share, the seconds since it began, the bytes it had sent
    by then; without servers also how many steps of others each of its updates came after. A rank
    that only serves has a `shift` and no weights.
    """

    worker: int | None
    weights: np.ndarray | None
    losses: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    bytes: tuple[int, ...] = ()
    staleness: tuple[int, ...] = ()
    total_seconds: float = 0.0
    total_bytes: int = 0
    shift: Shift | None = None


def train(
    comm: Comm,
    task: Trainable,
    when: When[OwnStation],
    path: Path[OwnStation] = AllReduce(),  # type: ignore[assignment]  # for what averages
    form: Form = Dense(),
    update: Update = SGD(0.1),
    steps: int = 100,
    pace: Pace | None = None,
) -> Result:
    """Train `task` with so many gradients for each worker; all ranks call it alike.

    `pace(worker, step)` are seconds that a worker is busy besides, at each gradient: on real ranks
    it sleeps through them, on simulated ones they are all that a gradient costs.
    """
    for name, given, kind, example in (
        ("task", task, Trainable, "Digits()"), ("when", when, When, "Synchronous()"),
        ("path", path, Path, "AllReduce()"), ("form", form, Form, "Dense()"),
        ("update", update, Update, "SGD(0.1)"),
    ):  # fmt: skip
        if isinstance(given, type) or not isinstance(given, kind):
            raise TypeError(f"train: {name} must be one such as {name}={example}, not {given!r}")
    reason = refusal(when, path, form, update)
    if reason is not None:
        raise ValueError(reason)
    if steps < 0:
        raise ValueError(f"steps={steps}: a worker computes zero gradients or more")
    weights = task.initial()
    begun = comm.now()
    _, entries = comm.ledger.since(0)
    station = path.open(comm, when.travels(task, weights), form, when.service(update))
    if isinstance(station, Dedicated):
        result = Result(None, None, shift=station.serve())
    else:
        worker = Worker(comm, task, station, update, weights, steps, pace)
        when.run(worker)
        shift = station.leave()
        result = Result(
            station.worker, worker.weights, tuple(worker.losses), tuple(worker.seconds),
            tuple(worker.bytes), tuple(worker.staleness), shift=shift,
        )  # fmt: skip
    seconds, (sent, _) = comm.now() - begun, comm.ledger.since(entries)
    return replace(result, total_seconds=seconds, total_bytes=sent)
