"""Communicators for wrapped modules, because messages of two modules must never meet.

An MPI library has a limited number of them, and a program may wrap again and again. So a module
that is freed gives its own back. Ranks free modules at different times: they agree on one that all
have back. How many there are depends on Python's collector, on simulated ranks too.
"""

from collections.abc import Sequence
from weakref import finalize

from ddl_teach.comm import Comm
from ddl_teach.networks.any_module.replicas import Replicas
from ddl_teach.networks.any_module.sharded import ShardedModule

ROOM = 8  # places in the list at first, and by how many it grows


class Lent:
    """What one communicator has lent; in the same order on all ranks."""

    def __init__(self) -> None:
        self._made: list[Comm] = []
        self.in_use = [0.0] * ROOM  # 1 for those that this rank has not got back

    def first_free(self, comm: Comm, in_use: Sequence[float]) -> tuple[Comm, int]:
        """The first communicator that no rank uses, and its number. `in_use` is the largest of all
        ranks' lists, place by place."""
        number = in_use.index(0.0)
        if number == len(self._made):
            self._made.append(comm.subgroup(range(comm.size)))
            self.in_use += [0.0] * (ROOM if number == len(in_use) - 1 else 0)
        return self._made[number], number

    def lend(self, number: int, way: Replicas | ShardedModule) -> None:
        """Until `way` is freed."""
        self.in_use[number] = 1.0
        finalize(way, self._take_back, number, way.passes.unended)

    def _take_back(self, number: int, unended: Sequence[int]) -> None:
        """This rank no longer uses it. After a broken pass it stays in use: messages may be left
        that no rank waits for."""
        self.in_use[number] = float(unended[0] > 0)
