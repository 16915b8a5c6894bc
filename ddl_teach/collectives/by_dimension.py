"""All-reduce on a grid of ranks: rings along each dimension in turn, on ever smaller parts.

    reduce-scatter along the last dimension, then on the part that is left along the one before
    it, and so on; all-gather the same way back

Cost on a torus of sizes k: sum over its dimensions of 2 (k-1) (latency + n/m per_byte), where m is
the product of this size and those before it: the bytes of one long ring, but of the latencies only
2 sum (k-1) in place of 2 (P-1). All messages go to neighbours: no two of them share a link on a
`Torus` or a `HammingMesh` of these sizes.
Jain and Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects",
ICS 2010. What to look at: the first dimension carries most bytes; put the fastest links there.
"""

from collections.abc import Sequence
from math import prod

from ddl_runtime.core.arrays import Array, Operation
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm, collective


def form_lines(comm: Comm, sizes: Sequence[int]) -> list[Comm]:
    """For each dimension of a grid, the last first, the ranks that differ from this one in it
    alone. All ranks must call it; ranks are numbered row by row."""
    if prod(sizes) != comm.size:
        raise ValueError(f"a grid of {tuple(sizes)} has {prod(sizes)} ranks, not {comm.size}")
    strides = [prod(sizes[place + 1 :]) for place in range(len(sizes))]
    return [
        comm.split(comm.rank - comm.rank // stride % size * stride)
        for size, stride in reversed([*zip(sizes, strides, strict=True)])
    ]


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum", *, lines: Sequence[Comm]) -> None:
    """Combine the `x` of all ranks, in place, along the `lines` of `form_lines`."""
    parts = [x]
    for line in lines:
        parts.append(ring.reduce_scatter(line, parts[-1], op))
    for line, part in reversed([*zip(lines, parts[:-1], strict=True)]):
        ring.allgather(line, part)
