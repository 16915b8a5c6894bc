"""A long message in chunks, so that one is copied while another travels.

    sender     head | copy 0 | copy 1 | copy 2 |
    wire              head   | chunk 0 | chunk 1 | chunk 2
    receiver                           | copy 0  | copy 1 | copy 2

The head goes first and at once, under the tag of the message: it takes the message's place among
all others, so nothing overtakes it. It says how many bytes will come, in chunks of how many, and
under which number. The chunks follow beside all other messages, in order, under that number. A
receiver knows a head by its size: no message of more than 4000 bytes is so short. An array in host
memory takes the chunks where they belong.

Cost of k chunks: the three stages of one, and k-1 times the slowest of them (`theory.staging`).
What to look at: on the timeline, copies out, messages and copies in one above the other.
"""

from collections import deque

import numpy as np

from ddl_runtime.core.arrays import Array, as_bytes
from ddl_runtime.devices.staging import DEPTH, CopyIn, in_chunks
from ddl_runtime.mpi.context import MPIContext
from ddl_runtime.mpi.wire import MPI, PART, wire_tag

HEAD_BYTES = 24  # three whole numbers: bytes, bytes of a chunk, number of the transfer
NUMBERS = 1 << 15  # transfers that can have a number at a time


def head_of(nbytes: int, chunk: int, number: int) -> np.ndarray:
    """The head of a message in chunks, as bytes: its length, a chunk's length, its number."""
    return np.array([nbytes, chunk, number], np.int64).view(np.uint8)


def chunk_tag(context: MPIContext, number: int) -> int:
    """The MPI tag of all chunks of one message."""
    return wire_tag(number, PART, 0, context.channel)


class InHostMemory:
    """Chunks go where they belong in an array of the host."""

    def __init__(self, x: Array) -> None:
        self._bytes = as_bytes(x)

    def room(self, first: int, nbytes: int) -> np.ndarray:
        return self._bytes[first : first + nbytes]

    def came(self, first: int, nbytes: int) -> None:
        """Do nothing: the chunk is where it belongs."""


ChunkTarget = InHostMemory | CopyIn  # where chunks go


class Chunks:
    """The rest of a message whose head has arrived. It has `Test` like a request of MPI, and in
    the end sets the status that MPI would have set for the whole message."""

    def __init__(
        self, context: MPIContext, head: np.ndarray, source: int, place: ChunkTarget
    ) -> None:
        self.nbytes, self._chunk, number = (int(each) for each in head.view(np.int64))
        self._context = context
        self._source = source
        self._tag = chunk_tag(context, number)
        self._place = place
        self._todo = deque(in_chunks(self.nbytes, self._chunk))
        self._coming: deque[tuple[MPI.Request, int, int]] = deque()

    def Test(self, status: MPI.Status) -> bool:  # noqa: N802 - it stands for one of MPI's
        """Take the chunks that have arrived; True when all have."""
        while self._coming and self._coming[0][0].Test():
            self._place.came(*self._coming.popleft()[1:])
            self._context.monitor.moved()
        while self._todo and len(self._coming) < DEPTH:
            room = self._place.room(*self._todo[0])
            if room is None:
                break
            handle = self._context.mpi.Irecv([room, MPI.BYTE], self._source, self._tag)
            self._coming.append((handle, *self._todo.popleft()))
        if self._coming or self._todo:
            return False
        status.Set_source(self._source)
        status.Set_elements(MPI.BYTE, self.nbytes)
        return True

    def Get_status(self) -> bool:  # noqa: N802
        """No other message will come here."""
        return True

    def Cancel(self) -> None:  # noqa: N802
        for handle, _, _ in self._coming:
            handle.Cancel()
