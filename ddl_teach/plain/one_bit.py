"""1-bit SGD: of each entry only the sign travels; the error is added to the next gradient.

    total = residual + gradient
    sent  = mean of the entries >= 0 where total >= 0, mean of the others elsewhere
    residual = total - sent

Of all vectors with two values and these signs, the one with the two means is the nearest.
Cost: n/8 + 16 bytes for n entries to each other rank, 1/64 of float64. Memory: one more vector.
Seide, Fu, Droppo, Li and Yu, "1-bit stochastic gradient descent and its application to
data-parallel distributed training of speech DNNs", Interspeech 2014. There every column of a
matrix has means of its own, and the mean over the ranks is sent with one bit once more.
What to look at: leave the residual out, and a training may diverge.
"""

import numpy as np

from ddl_teach import Comm


def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two means, and a bit for each entry: which of the two."""
    upper = x >= 0
    sums = np.array([x[upper].sum(), x[~upper].sum()])
    counts = np.array([upper.sum(), (~upper).sum()])
    return sums / np.maximum(counts, 1), np.packbits(~upper)


def decode(means: np.ndarray, bits: np.ndarray, size: int) -> np.ndarray:
    """The vector that a message stands for."""
    return means[np.unpackbits(bits, count=size)]


def average(comm: Comm, gradient: np.ndarray, residual: np.ndarray) -> None:
    """Replace `gradient` by the mean of what all ranks send; `residual` is this rank's own."""
    residual += gradient
    means, bits = encode(residual)
    residual -= decode(means, bits, len(residual))

    messages = {comm.rank: (means, bits)}
    for distance in range(1, comm.size):
        to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        messages[source] = np.empty_like(means), np.empty_like(bits)
        comm.sendrecv(means, to, messages[source][0], source)
        comm.sendrecv(bits, to, messages[source][1], source)

    gradient[:] = 0
    for rank in range(comm.size):  # in the same order on all ranks, so that all get the same bits
        gradient += decode(*messages[rank], len(gradient))
    gradient /= comm.size
