"""Folding: how an algorithm for powers of two serves any number of ranks.

Of P ranks the largest power of two, the core, takes part. The others hand their vector to a
neighbour and stand aside until they get the result back: with P = 6 rank 1 folds into rank 0 and
rank 3 into rank 2, so the core is 0, 2, 4 and 5.

Cost: 2 (latency + n per_byte) more than for the power of two below.
Thakur et al. 2005.
"""

from dataclasses import dataclass

from ddl_runtime.core.arrays import Array, Operation, empty_like
from ddl_teach.comm import Comm


@dataclass(frozen=True)
class Core:
    """The ranks that take part, numbered by places 0, 1, 2, ... in the order of their ranks."""

    size: int
    pairs: int  # how many of them act for a neighbour as well: those in the first places
    place: int  # this rank's
    steps: range  # one for each bit of a place; none for a rank that stands aside

    def rank_at(self, place: int) -> int:
        return 2 * place if place < self.pairs else place + self.pairs


def core_of(comm: Comm) -> Core:
    """The ranks that take part, and this rank's place among them."""
    levels = comm.size.bit_length() - 1
    pairs = comm.size - 2**levels
    if comm.rank >= 2 * pairs:
        return Core(2**levels, pairs, comm.rank - pairs, range(levels))
    return Core(2**levels, pairs, comm.rank // 2, range(0 if comm.rank % 2 else levels))


def fold(comm: Comm, core: Core, x: Array, op: Operation) -> None:
    """The odd rank of a pair sends `x`, the even one combines it with its own."""
    if comm.rank >= 2 * core.pairs:
        return
    arriving = x if comm.rank % 2 else empty_like(x)
    hand_in(comm, core, arriving)
    if comm.rank % 2 == 0:
        comm.combine(x, arriving, out=x, op=op)


def hand_in(comm: Comm, core: Core, x: Array, sender: int = 1) -> None:
    """The odd rank of a pair sends `x`, the even one receives it."""
    if comm.rank < 2 * core.pairs:
        verb = comm.send if comm.rank % 2 == sender else comm.recv
        verb(x, comm.rank ^ 1)


def unfold(comm: Comm, core: Core, x: Array) -> None:
    """The even rank of a pair sends `x`, the odd one receives it."""
    hand_in(comm, core, x, sender=0)
