"""Messages whose length only the sender knows.

Only its own rank knows how many entries a sparse sum has. So 8 bytes with the length go ahead, and
the message follows at once. The receiver makes room for the second by the first, and the latency
of both together is paid only once. An empty message is the 8 bytes alone.

Cost of each: latency + (8 + n) per_byte.
What to look at: in a ledger, every second message has 8 bytes.
"""

import numpy as np

from ddl_teach.comm import Comm, Request, collective

LENGTH = np.dtype(np.int64)


def begin(comm: Comm, message: np.ndarray, to: int) -> list[Request]:
    """Send `message` after its length, and return the requests to wait for; until then its bytes
    must not change."""
    requests = [comm.isend(np.array([len(message)], LENGTH), to)]
    if len(message):
        requests.append(comm.isend(message, to))
    return requests


def receive(comm: Comm, source: int) -> np.ndarray:
    """The bytes that `source` sends, or with ANY the first that does."""
    length = np.empty(1, LENGTH)
    source = comm.recv(length, source)
    message = np.empty(length[0], np.uint8)
    if len(message):
        comm.recv(message, source)
    return message


def swap(comm: Comm, message: np.ndarray, to: int, source: int) -> np.ndarray:
    """Send one and receive another at the same time."""
    requests = begin(comm, message, to)
    arrived = receive(comm, source)
    for request in requests:
        request.wait()
    return arrived


@collective
def allgather(comm: Comm, message: np.ndarray) -> list[np.ndarray]:
    """The messages of all ranks, by rank, in ceil(log2 P) steps (Bruck et al. 1997).

    What a rank has doubles in each step: its own and those of the ranks above. So each message of
    another rank arrives once, with 8 bytes for its length.
    """
    rank, size = comm.rank, comm.size
    held = [message]  # of ranks rank, rank+1, ...
    while len(held) < size:
        count = min(len(held), size - len(held))
        below, above = (rank - len(held)) % size, (rank + len(held)) % size
        lengths = np.array([len(packed) for packed in held[:count]], LENGTH)
        coming = np.empty(count, LENGTH)
        requests = [comm.isend(lengths, below), comm.isend(np.concatenate(held[:count]), below)]
        comm.recv(coming, above)
        arrived = np.empty(coming.sum(), np.uint8)
        comm.recv(arrived, above)
        for request in requests:
            request.wait()
        held += np.split(arrived, np.cumsum(coming)[:-1])
    return held[size - rank :] + held[: size - rank]
