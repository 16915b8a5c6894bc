"""QSGD: each entry is rounded at random to one of a few levels, so that its expectation stays.

    x_i  becomes  |x| sign(x_i) l_i / s,   l_i = floor(s |x_i| / |x| + u_i),   u_i from [0, 1)

with the length |x| and s levels. The expectation of l_i is s |x_i| / |x|, so errors average out
over ranks and steps, and nothing has to be kept. The error is at most min(n/s^2, sqrt(n)/s) |x|^2.
Cost: a length and n whole numbers from -s to s to each other rank. They travel as bytes here;
1 + ceil(log2(s + 1)) bits each would do, and fewer with a code for many zeros.
Alistarh, Grubic, Li, Tomioka and Vojnovic, "QSGD: communication-efficient SGD via gradient
quantization and encoding", NIPS 2017. What to look at: with few levels most entries become zero.
"""

import numpy as np

from ddl_teach import Comm


def encode(
    x: np.ndarray, levels: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The length of x, and a signed level for each entry."""
    length = np.sqrt(x @ x)
    scaled = levels * np.abs(x) / (length if length > 0 else 1)
    rounded = np.floor(scaled + random.random(len(x)))
    return np.array([length]), (np.sign(x) * rounded).astype(np.int8)


def average(comm: Comm, gradient: np.ndarray, levels: int, random: np.random.Generator) -> None:
    """Replace `gradient` by the mean of what all ranks send; each rank draws its own numbers."""
    length, rounded = encode(gradient, levels, random)

    messages = {comm.rank: (length, rounded)}
    for distance in range(1, comm.size):
        to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        messages[source] = np.empty_like(length), np.empty_like(rounded)
        comm.sendrecv(length, to, messages[source][0], source)
        comm.sendrecv(rounded, to, messages[source][1], source)

    gradient[:] = 0
    for rank in range(comm.size):  # in the same order on all ranks, so that all get the same bits
        length, rounded = messages[rank]
        gradient += length * rounded / levels
    gradient /= comm.size
