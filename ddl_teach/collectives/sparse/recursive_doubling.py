"""Sparse recursive doubling: swap all you have with the rank 1, 2, 4, ... places away.

Cost: log2 P (latency + 8 per_byte), and the entries. If each rank has k of them, it sends log2 P k
where all have the same indices, (P-1) k where no two share one. Where a sum is larger than the
vector it travels as the vector. It is the choice for few entries. For other P see `folding`.
Renggli et al., "SparCML", SC 2019: SSAR_Recursive_double.
What to look at: the messages of the last step, beside those of the first.
"""

from ddl_teach.collectives.folding import core_of
from ddl_teach.collectives.sparse.messages import begin, receive, swap
from ddl_teach.collectives.sparse.stream import Stream
from ddl_teach.comm import Comm, collective


@collective
def allreduce(comm: Comm, stream: Stream) -> Stream:
    """The sum of all ranks' streams."""
    size, dtype = stream.size, stream.values.dtype
    core = core_of(comm)
    folded = comm.rank < 2 * core.pairs
    if folded and comm.rank % 2:
        for request in begin(comm, stream.pack(), comm.rank - 1):
            request.wait()
        return Stream.unpack(receive(comm, comm.rank - 1), size, dtype)
    if folded:
        stream = stream.add(Stream.unpack(receive(comm, comm.rank + 1), size, dtype))
    for step in core.steps:
        partner = core.rank_at(core.place ^ 2**step)
        # Both partners add the same two streams, and a + b has the bits of b + a.
        arrived = swap(comm, stream.pack(), partner, partner)
        stream = stream.add(Stream.unpack(arrived, size, dtype))
    if folded:
        for request in begin(comm, stream.pack(), comm.rank + 1):
            request.wait()
    return stream
