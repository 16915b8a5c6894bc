"""What a step on a grid sends and takes on real ranks, to lay over what the formulas say.

What to look at: bytes are the formula's, to the byte; seconds are the machine's. Four processes on
two cores know delays that no model of messages does.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ddl_measure.experiments.grid.only_time import TimedTrainer
from ddl_measure.repetitions import side_by_side
from ddl_measure.slowest_rank import slowest_in_turns
from ddl_teach.comm import Comm
from ddl_teach.networks.grid.axes import sent_along
from ddl_teach.networks.grid.trainer import Trainer
from ddl_teach.networks.models import data
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.signatures import Batch
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.layers import transformer
from ddl_teach.theory.grids.sent import AxisBytes


def sent_in_a_step(
    comm: Comm, trainer: Trainer | TimedTrainer, batch: Batch | None,
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
    messages = [one._replace(peer=here[one.peer]) for one in comm.ledger.messages[begun:]]
    along = sent_along(grid, comm.rank, messages[: averaging - begun])
    along["data"] += sum(message.bytes for message in messages[averaging - begun :])
    return AxisBytes(**along)


def sent_on(comm: Comm, grid: Grid, *, batch: int, micro_batches: int, **sizes: int) -> AxisBytes:
    """The same for a `gpt` of these sizes, on characters."""
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
        taken = side_by_side({grid: partial(trainer.step, rows)}, repetitions=steps, warm_up=0,
                             before=part.barrier, clock=part.now)  # fmt: skip
        times.append(float(taken[grid].min()))
    return times


def in_turns(
    comm: Comm, grids: Mapping[Grid, int], *, batch: int, repetitions: int,
    known_as: Sequence[int], accelerator: float = 0.0, **sizes: int,
) -> tuple[dict[Grid, np.ndarray], dict[Grid, AxisBytes]]:  # fmt: skip
    """Seconds of the slowest rank in each step on each grid, the grids taking turns; and what this
    rank sends in a step.

    `grids` says into how many micro-batches each cuts its share. Of one with fewer ranks several
    train side by side, each on its own share of the batch, and what they send is not told. With
    an `accelerator` of so many operations a second, described, nothing is computed: the messages
    are real, and between them ranks sleep.
    """
    steps: dict[Grid, Callable[[], Any]] = {}
    along: dict[Grid, AxisBytes] = {}
    for grid, micro_batches in grids.items():
        share = batch * grid.ranks // comm.size
        whole = comm.split(comm.rank // grid.ranks)
        make = partial(_asleep, accelerator) if accelerator else _on_characters
        trainer, rows = make(whole, grid, share, micro_batches, sizes)
        steps[grid] = partial(trainer.step, rows)
        if grid.ranks == comm.size:
            along[grid] = sent_in_a_step(comm, trainer, rows, known_as)
    return slowest_in_turns(comm, steps, repetitions), along


def _on_characters(
    comm: Comm, grid: Grid, batch: int, micro_batches: int, sizes: dict[str, int]
) -> tuple[Trainer, Batch]:
    [rows] = data.batches(data.characters(sizes["length"]), batch, 1)
    return Trainer(comm, gpt(**sizes), grid, micro_batches=micro_batches), rows


def _asleep(
    flops: float, comm: Comm, grid: Grid, batch: int, micro_batches: int, sizes: dict[str, int]
) -> tuple[TimedTrainer, None]:
    network = transformer(**sizes, vocabulary=len(data.ALPHABET))
    schedule = one_f_one_b(grid.pipeline, micro_batches)
    return TimedTrainer(comm, network, grid, schedule, batch=batch, flops=flops), None
