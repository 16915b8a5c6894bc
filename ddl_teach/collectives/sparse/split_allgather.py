"""Split and all-gather: every rank adds up one part of the vector, then all gather the parts.

Cost: the split sends (P-1)/P k entries a rank, straight to the P-1 owners; the all-gather takes
ceil(log2 P) latencies and moves the K entries of the sum, where k <= K <= P k. Each entry is sent
once before it is added up and once after: the choice for many entries whose sum stays sparse.
Renggli et al., "SparCML", SC 2019: SSAR_Split_allgather.
What to look at: P-1 short messages first, then few long ones.
"""

from ddl_teach.collectives.blocks import chunk_start
from ddl_teach.collectives.sparse.messages import allgather, begin, receive
from ddl_teach.collectives.sparse.stream import Stream, join
from ddl_teach.comm import Comm, collective


@collective
def allreduce(comm: Comm, stream: Stream) -> Stream:
    """The sum of all ranks' streams."""
    ends = bounds(stream.size, comm.size)
    messages = allgather(comm, split(comm, stream).pack())
    return join(
        [
            Stream.unpack(message, end - start, stream.values.dtype)
            for message, start, end in zip(messages, ends, ends[1:], strict=False)
        ]
    )


def split(comm: Comm, stream: Stream) -> Stream:
    """The sum of all ranks' streams in this rank's own part of the vector."""
    rank, size = comm.rank, comm.size
    ends = bounds(stream.size, size)
    requests = []
    for distance in range(1, size):  # each rank begins with another owner: no port stands idle
        owner = (rank + distance) % size
        requests += begin(comm, stream.part(ends[owner], ends[owner + 1]).pack(), owner)
    own = stream.part(ends[rank], ends[rank + 1])
    for distance in range(1, size):
        arrived = receive(comm, (rank - distance) % size)
        own = own.add(Stream.unpack(arrived, own.size, own.values.dtype))
    for request in requests:
        request.wait()
    return own


def bounds(length: int, parts: int) -> list[int]:
    """Where the parts of a vector begin, and where the last one ends."""
    return [chunk_start(length, part, parts) for part in range(parts + 1)]
