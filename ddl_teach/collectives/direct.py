"""Direct: every chunk goes straight to the rank that adds it, and its sum straight to all.

Two steps, whatever the number of ranks, also called two-shot: 2 (latency + (P-1)/P n per_byte). It
needs a path between each two ranks, as behind the switch of a node. `auto` knows one link alone
and leaves it out: elsewhere its messages share cables.
Shah et al., "MSCCL++: rethinking GPU communication abstractions for cutting-edge AI applications",
arXiv 2025, and engines that serve models take this inside a node, and `one_shot` for few bytes.
What to look at: two arrows from each rank to each other, and nothing is passed on.
"""

from collections.abc import Sequence

from ddl_runtime.core.arrays import Array, Operation, empty_like, split_evenly
from ddl_teach.comm import Comm, collective


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum") -> None:
    """Combine the `x` of all ranks, in place."""
    reduce_scatter(comm, x, op)
    allgather(comm, x)


@collective
def reduce_scatter(comm: Comm, x: Array, op: Operation = "sum") -> Array:
    """Return this rank's chunk of the combination of all `x`; the rest of `x` stays."""
    chunks = split_evenly(x, comm.size)
    own = chunks[comm.rank]
    parts = [empty_like(own) for _ in chunks]
    exchange(comm, chunks, parts)
    for rank, part in enumerate(parts):
        if rank != comm.rank:
            comm.combine(own, part, out=own, op=op)
    return own


@collective
def allgather(comm: Comm, x: Array) -> None:
    """Every rank contributes its own chunk of `x` and gets those of all others."""
    chunks = split_evenly(x, comm.size)
    exchange(comm, [chunks[comm.rank]] * comm.size, chunks)


def exchange(comm: Comm, outgoing: Sequence[Array], incoming: Sequence[Array]) -> None:
    """Send `outgoing[r]` to each rank r, and receive `incoming[r]` from it, all at once."""
    others = [(comm.rank + step) % comm.size for step in range(1, comm.size)]
    requests = [comm.irecv(incoming[source], source) for source in reversed(others)]
    requests += [comm.isend(outgoing[to], to) for to in others]
    for request in requests:
        request.wait()
