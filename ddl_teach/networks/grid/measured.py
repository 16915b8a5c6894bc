"""What a step on a grid sends and takes on real ranks, to lay over what the formulas say.

What to look at: bytes are the formula's, to the byte; seconds are the machine's. Four processes on
two cores know delays that no model of messages does.
"""

from __future__ import annotations

from collections.abc import Sequence

from ddl_teach.comm import Comm
from ddl_teach.networks.grid.axes import sent_along
from ddl_teach.networks.grid.trainer import Trainer
from ddl_teach.networks.models import data
from ddl_teach.networks.models.data import Batch
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.sent import Sent


def sent_in_a_step(comm: Comm, trainer: Trainer, batch: Batch) -> Sent:
    """Train on one batch; the bytes that this rank of the whole program sent along each axis."""
    grid, begun = trainer.axes.grid, len(comm.ledger.messages)
    trainer.backward(batch)
    averaging = len(comm.ledger.messages)
    trainer.update()
    messages = comm.ledger.messages
    along = sent_along(grid, comm.rank, messages[begun:averaging])
    along["data"] += sum(message.bytes for message in messages[averaging:])
    return Sent(**along)


def sent_on(comm: Comm, grid: Grid, *, batch: int, micro_batches: int, **sizes: int) -> Sent:
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
    return [
        _fastest(comm, *_on_characters(
            comm.split(comm.rank // grid.ranks), grid, batch, micro_batches, sizes
        ), steps)
        for grid in grids
    ]  # fmt: skip


def _on_characters(
    comm: Comm, grid: Grid, batch: int, micro_batches: int, sizes: dict[str, int]
) -> tuple[Trainer, Batch]:
    [rows] = data.batches(data.characters(sizes["length"]), batch, 1)
    return Trainer(comm, gpt(**sizes), grid, micro_batches=micro_batches), rows


def _fastest(comm: Comm, trainer: Trainer, batch: Batch, steps: int) -> float:
    times = []
    for _ in range(steps):
        comm.barrier()
        begun = comm.now()
        trainer.step(batch)
        times.append(comm.now() - begun)
    return min(times)
