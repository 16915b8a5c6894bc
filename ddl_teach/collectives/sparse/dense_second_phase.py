"""Dense second phase: the split is sparse, but what is gathered is dense, and may be quantised.

Many ranks with k entries each fill a vector in; then indices in the second phase are bytes for
nothing. Each owner sends the N/P numbers of its part of the sum alone, or fewer bits of each. It
decodes its own message too, so that all ranks go on with the same numbers.

Cost: a rank sends (P-1)/P k entries in the split, and (P-1)/P N numbers in the all-gather. A
number has b bytes, or those of the compressor.
Renggli et al., "SparCML", SC 2019: DSAR_Split_allgather, there with QSGD's 4 bits in phase two.
What to look at: quantising the sum once costs one rounding; quantising before adding costs P.
"""

from typing import Protocol

import numpy as np

from ddl_teach.collectives.sparse.messages import allgather
from ddl_teach.collectives.sparse.split_allgather import bounds, split
from ddl_teach.collectives.sparse.stream import Stream
from ddl_teach.comm import Comm, collective


class Decoder(Protocol):
    """How bytes become a vector again."""

    def decode(self, message: np.ndarray, size: int) -> np.ndarray: ...


class StatefulEncoder(Protocol):
    """The sender's side of a compressor, which may remember what it has not sent."""

    compressor: Decoder

    def encode(self, vector: np.ndarray) -> np.ndarray: ...


@collective
def allreduce(comm: Comm, stream: Stream, encoder: StatefulEncoder | None = None) -> Stream:
    """The sum of all ranks' streams, dense; this rank's part of it travels through `encoder`."""
    ends, dtype = bounds(stream.size, comm.size), stream.values.dtype
    own = split(comm, stream).dense()
    messages = allgather(comm, own.view(np.uint8) if encoder is None else encoder.encode(own))
    total = np.empty(stream.size, dtype)
    for message, start, end in zip(messages, ends, ends[1:], strict=False):
        if encoder is None:
            total[start:end] = message.view(dtype)
        else:
            total[start:end] = encoder.compressor.decode(message, end - start)
    return Stream(stream.size, total)
