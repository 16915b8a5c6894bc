"""Rabenseifner's all-reduce: recursive halving adds up, recursive doubling hands out.

Cost: 2 log2 P latency + 2 (P-1)/P n per_byte for powers of two: the few latencies of a tree and
the few bytes of the ring, so it is the choice for long vectors on many ranks. For other P see
`folding`.
Rabenseifner, "Optimization of collective reduction operations", 2004.
What to look at: here the farthest partners come first and swap half the vector; then the film
runs backwards. Thakur, Rabenseifner and Gropp, 2005, MPICH and Open MPI begin with the nearest.
"""

from collections.abc import Callable

from ddl_runtime.core.arrays import Array, Operation, empty_like, flat
from ddl_teach.collectives.blocks import chunk_start
from ddl_teach.collectives.folding import Core, core_of, fold, unfold
from ddl_teach.collectives.recursive_doubling import allgather, swap_doubling
from ddl_teach.comm import Comm, collective

__all__ = ["allgather", "allreduce", "reduce_scatter"]


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place."""
    core, row = core_of(comm), flat(x)
    length = len(row)

    def start(place: int) -> int:
        return chunk_start(length, place, core.size)

    fold(comm, core, row, op)
    swap_halving(comm, core, row, start, op)
    swap_doubling(comm, core, row, start)
    unfold(comm, core, row)


@collective
def reduce_scatter(comm: Comm, x: Array, op: Operation = "sum") -> Array:
    """Return this rank's chunk of the combination of all `x`; the rest of `x` is scratch."""
    core, row, size = core_of(comm), flat(x), comm.size
    length = len(row)

    def start(rank: int) -> int:
        return chunk_start(length, rank, size)

    def chunk(rank: int) -> Array:
        return row[start(rank) : start(rank + 1)]

    fold(comm, core, row, op)
    # A place that acts for two ranks adds up the chunks of both.
    swap_halving(comm, core, row, lambda place: start(core.rank_at(place)), op)
    unfold(comm, core, chunk(comm.rank | 1))
    return chunk(comm.rank)


def swap_halving(
    comm: Comm, core: Core, row: Array, start: Callable[[int], int], op: Operation
) -> None:
    """Reduce-scatter in the core: each place ends with its own part of `row`, combined."""
    for step in reversed(core.steps):
        span = 2**step
        mine = core.place - core.place % span  # from now on I add up the parts from this place on
        theirs = mine ^ span
        partner = core.rank_at(core.place ^ span)
        outgoing = row[start(theirs) : start(theirs + span)]
        kept = row[start(mine) : start(mine + span)]
        arriving = empty_like(kept)
        comm.sendrecv(outgoing, partner, arriving, partner)
        comm.combine(kept, arriving, out=kept, op=op)
