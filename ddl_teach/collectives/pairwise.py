"""Pairwise all-to-all: in step k send to the rank k above, receive from the rank k below.

Cost: (P-1) (latency + n/P per_byte), where n counts all P blocks of a rank. Every block goes
straight to its owner, so no byte travels twice: the choice for large blocks.
Thakur et al. 2005.
What to look at: in no step do two messages go to the same rank.
"""

from ddl_runtime.core.arrays import Array, copy_into
from ddl_teach.collectives.blocks import blocks_to_exchange
from ddl_teach.comm import Comm, collective


@collective
def alltoall(comm: Comm, x: Array, out: Array) -> None:
    """Block s of rank r's `x` becomes block r of rank s's `out`."""
    outgoing, incoming = blocks_to_exchange(comm, x, out)
    copy_into(incoming[comm.rank], outgoing[comm.rank])
    for step in range(1, comm.size):
        above, below = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        comm.sendrecv(outgoing[above], above, incoming[below], below)
