"""Communicators for wrapped modules, because messages of two modules must never meet.

MPI has some thousands of them, and a program may wrap again and again. So a module that is freed
gives its own back. Ranks free modules at different times: they agree on one that all have back.
"""

from collections.abc import Sequence

from ddl_teach.comm import Comm
from ddl_teach.networks.any_module.passes import BackwardPasses

ROOM = 8


class Lent:
    """What one communicator has lent; in the same order on all ranks."""

    def __init__(self) -> None:
        self._made: list[Comm] = []
        self.in_use = [0.0] * ROOM  # 1 for those that this rank has not got back

    def lend(self, comm: Comm, in_use: Sequence[float]) -> tuple[Comm, int]:
        """The first that no rank uses, and its number; all give the ranks' maxima of `in_use`."""
        number = in_use.index(0.0)
        if number == len(self._made):
            self._made.append(comm.subgroup(range(comm.size)))
            self.in_use += [0.0] * (ROOM if number == len(in_use) - 1 else 0)
        self.in_use[number] = 1.0
        return self._made[number], number

    def take_back(self, number: int, passes: BackwardPasses) -> None:
        """Unless a pass was broken off: some ranks may have sent what others never wait for."""
        self.in_use[number] = float(passes.under_way)
