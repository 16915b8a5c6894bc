"""The mean of vectors that travel in bytes: by a ring, or by an all-to-all.

A block of 64 numbers is sent as its largest magnitude s, and a byte for each: round(127 x / s).
The *ring* rounds sums at every hop, P times, and its error grows like sqrt(P). In the *all-to-all*
each rank rounds what it has, and the owner of a chunk adds all P and rounds once. Cost of both:
2 (P-1)/P m bytes a rank, m = n + 4 n/64 for n numbers. Wang et al., "ZeRO++", 2023.
What to look at: the owner too takes what its bytes say, or it would differ from all others.
"""

import numpy as np

from ddl_teach import Comm

BLOCK = 64


def encode(x: np.ndarray) -> np.ndarray:
    """The message for x: a scale of four bytes for each block, then a byte for each number."""
    blocks = np.pad(x, (0, -len(x) % BLOCK)).reshape(-1, BLOCK)
    scales = np.abs(blocks).max(axis=1).astype(np.float32)
    levels = np.rint(blocks * 127 / np.where(scales > 0, scales, 1)[:, None]).ravel()
    return np.append(scales.view(np.uint8), levels.astype(np.int8).view(np.uint8)[: len(x)])


def decode(message: np.ndarray) -> np.ndarray:
    """The numbers that a message stands for."""
    cut = 4 * -(-len(message) // (BLOCK + 4))
    steps = np.repeat(message[:cut].view(np.float32) / np.float32(127), BLOCK)
    return message[cut:].view(np.int8) * steps[: len(message) - cut]


def ring(comm: Comm, x: np.ndarray) -> None:
    """Replace `x` by the mean; each chunk's sum is rounded at every hop."""
    rank, size, chunks = comm.rank, comm.size, np.array_split(x, comm.size)
    for step in range(1, size):
        arriving = np.empty_like(encode(chunks[rank - step - 1]))
        comm.sendrecv(encode(chunks[rank - step]), (rank + 1) % size, arriving, (rank - 1) % size)
        chunks[rank - step - 1] += decode(arriving)
    share(comm, chunks, chunks[rank] / size)


def all_to_all(comm: Comm, x: np.ndarray) -> None:
    """Replace `x` by the mean; the owner of a chunk adds what all ranks have sent of it."""
    rank, size, chunks = comm.rank, comm.size, np.array_split(x, comm.size)
    arrived = [encode(chunks[rank]) for _ in range(size)]
    for distance in range(1, size):
        to, source = (rank + distance) % size, (rank - distance) % size
        comm.sendrecv(encode(chunks[to]), to, arrived[source], source)
    share(comm, chunks, sum(map(decode, arrived), np.zeros(len(chunks[rank]))) / size)


def share(comm: Comm, chunks: list[np.ndarray], mean: np.ndarray) -> None:
    """Fill the chunks with the owners' means, which travel round in bytes."""
    rank, size, arriving = comm.rank, comm.size, encode(mean)
    for step in range(size):
        message = arriving
        chunks[rank - step][:] = decode(message)
        arriving = np.empty_like(encode(chunks[rank - step - 1]))
        if step < size - 1:
            comm.sendrecv(message, (rank + 1) % size, arriving, (rank - 1) % size)
