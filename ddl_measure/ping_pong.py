"""Ping-pong: the time of one message, by one clock.

Rank 0 sends a ball, rank 1 returns it. Half of the time between is that of one message,
``latency + nbytes * per_byte``. Clocks of two computers disagree by more than a message takes;
here rank 0's clock alone sees both ends. One turn is too short for most clocks; a measurement has
many. What to look at: times stay flat up to ``latency / per_byte`` bytes and rise after that.
"""

import numpy as np

from ddl_runtime.core.arrays import Array
from ddl_teach.comm import Comm


def ping_pong(comm: Comm, nbytes: int, turns: int) -> float | None:
    """Play `turns` turns with a ball of `nbytes` bytes; rank 0 returns the seconds of a message.

    `comm` may be anything with rank, now(), send and recv. Ranks beyond the first two return at
    once.
    """
    return play(comm, np.zeros(nbytes, np.uint8), turns)


def play(comm: Comm, ball: Array, turns: int) -> float | None:
    """Like `ping_pong`, with any array as the ball, on the host or on a device."""
    if comm.rank > 1:
        return None
    begun = comm.now()
    for _ in range(turns):
        if comm.rank == 0:
            comm.send(ball, 1)
            comm.recv(ball, 1)
        else:
            comm.recv(ball, 0)
            comm.send(ball, 0)
    return (comm.now() - begun) / (2 * turns) if comm.rank == 0 else None
