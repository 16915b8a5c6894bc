"""The journal of a population: what its ranks must know to go on after a kill.

    {"losses": [0.41, null, ...]}            a line for each generation; null: this member crashed

That is all: who copied whom, and all settings, follow from the losses and the seed. The states of
the members lie beside it, each written by the rank that has trained it, into a folder that all
ranks see. The all-gather that brings the losses together also tells rank 0 that all states are on
the disk, and only then does it write the line.
What to look at: a journal that was begun on three ranks goes on on five.
"""

import math
import os
from collections.abc import Mapping

import numpy as np

from ddl_teach.collectives import tree
from ddl_teach.comm import Comm
from ddl_teach.search.journal import Journal


class Generations:
    """What was done before, and a place for what is done now; a `population.Kept`."""

    def __init__(self, folder: str | os.PathLike[str], comm: Comm, members: int) -> None:
        self._comm, self._members = comm, members
        self._journal, self._writes = Journal(folder), comm.rank == 0

    def before(self, search: str) -> list[np.ndarray]:
        lines = []
        if self._writes:
            lines = [event["losses"] for event in self._journal.open(search)]
        count = np.array([len(lines)])
        tree.broadcast(self._comm, count)
        losses = np.empty((int(count[0]), self._members))
        if self._writes:
            losses[:] = np.array(lines, float).reshape(losses.shape)
        tree.broadcast(self._comm, losses)
        return [np.where(np.isnan(row), np.inf, row) for row in losses]

    def states(
        self, generation: int, losses: np.ndarray, mine: range
    ) -> dict[int, np.ndarray | None]:
        return {
            member: self._journal.state(member, generation) if losses[member] < np.inf else None
            for member in mine
        }

    def keep(self, generation: int, states: Mapping[int, np.ndarray | None]) -> None:
        for member, state in states.items():
            if state is not None:
                self._journal.keep(member, generation, state)

    def write(self, generation: int, losses: np.ndarray, mine: range) -> None:
        if self._writes:
            row = [loss if math.isfinite(loss) else None for loss in losses.tolist()]
            self._journal.write({"losses": row})
        for member in mine:
            # Not the one before: rank 0 may be killed before its line of this one is there.
            self._journal.forget(member, generation - 2)

    def close(self) -> None:
        if self._writes:
            self._journal.close()
