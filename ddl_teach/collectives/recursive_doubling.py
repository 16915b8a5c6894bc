"""Recursive doubling: swap all you have with the rank 1, 2, 4, ... places away.

Cost: log2 P (latency + n per_byte) for powers of two; each rank sends log2 P n bytes. None needs
fewer steps, so it is the choice for short vectors. For other P see `folding`.
Thakur et al. 2005; the scan is Hillis and Steele's, "Data parallel algorithms", 1986.
What to look at: the arrows of step k span 2^k ranks, and after it 2^(k+1) ranks agree.
"""

from collections.abc import Callable

from ddl_runtime.core.arrays import Array, Operation, empty_like, flat
from ddl_teach.collectives.blocks import chunk_start
from ddl_teach.collectives.folding import Core, core_of, fold, hand_in, unfold
from ddl_teach.comm import Comm, Phantom, collective


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place."""
    core = core_of(comm)
    fold(comm, core, x, op)
    arriving = empty_like(x)
    for step in core.steps:
        partner = core.rank_at(core.place ^ 2**step)
        comm.sendrecv(x, partner, arriving, partner)
        # Both partners compute this. The lower rank's part comes first on both: of -0.0 and 0.0
        # the maximum is whichever is named first, and all ranks must get the same bits.
        lower, upper = x, arriving
        if x.__class__ is not Phantom and partner < comm.rank:
            lower, upper = arriving, x
        comm.combine(lower, upper, out=x, op=op)
    unfold(comm, core, x)


@collective
def allgather(comm: Comm, x: Array) -> None:
    """Every rank contributes its own chunk of `x` and gets those of all others.

    What is swapped doubles in each step: log2 P latency + (P-1)/P n per_byte for powers of two.
    """
    core, row, size = core_of(comm), flat(x), comm.size
    length = len(row)
    odd = comm.rank | 1  # of a folded pair, the rank that stands aside
    hand_in(comm, core, row[chunk_start(length, odd, size) : chunk_start(length, odd + 1, size)])
    swap_doubling(comm, core, row, lambda place: chunk_start(length, core.rank_at(place), size))
    unfold(comm, core, row)


def swap_doubling(comm: Comm, core: Core, row: Array, start: Callable[[int], int]) -> None:
    """All-gather in the core: each place begins with the part of `row` up to the next's start."""
    for step in core.steps:
        span = 2**step
        mine = core.place - core.place % span  # the parts from this place on are here by now
        theirs = mine ^ span
        partner = core.rank_at(core.place ^ span)
        outgoing = row[start(mine) : start(mine + span)]
        incoming = row[start(theirs) : start(theirs + span)]
        comm.sendrecv(outgoing, partner, incoming, partner)


@collective
def scan(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """The combination of the `x` of ranks 0 .. rank, in place.

    In step k add what the rank 2^k below has: ceil(log2 P) (latency + n per_byte).
    """
    arriving = empty_like(x)
    distance = 1
    while distance < comm.size:
        below, above = comm.rank - distance, comm.rank + distance
        if below >= 0 and above < comm.size:
            comm.sendrecv(x, above, arriving, below)
        elif below >= 0:
            comm.recv(arriving, below)
        elif above < comm.size:
            comm.send(x, above)
        if below >= 0:
            comm.combine(arriving, x, out=x, op=op)
        distance *= 2
