"""What is run while deck 7 is shown: a ring on the nodes of a box, and one whose cable is pulled.

    ddl-teach box up --nodes 4
    ddl-teach run slides/live.py:two_mebibytes --ranks 4 --box
    ddl-teach run slides/live.py:again_and_again --ranks 4 --box
    ddl-teach box fault node1 cut           # in another terminal, while that one runs
    ddl-teach box down

What to look at: the milliseconds of the first beside those on the slides. Of the second how long
nothing is heard, and that the story which ends it names the cable.
"""

from __future__ import annotations

import numpy as np

from ddl_teach import Comm
from ddl_teach.collectives import ring

WORDS = 2**19  # of four bytes: 2 MiB, as on the slides


def two_mebibytes(comm: Comm) -> str:
    """Sum a vector over all ranks and say where this one is, and what it took."""
    x = np.ones(WORDS, np.float32)
    comm.barrier()
    begun = comm.now()
    ring.allreduce(comm, x)
    return f"node {comm.node}: {1e3 * (comm.now() - begun):.0f} ms"


def again_and_again(comm: Comm, seconds: float = 40.0) -> int:
    """Do so until the time is over; returns how often, the same on every rank."""
    rounds, x, begun = 0, np.zeros(WORDS, np.float32), comm.now()
    while True:
        x[:] = 0
        x[0] = comm.now() - begun > seconds  # all go on until all want to end
        ring.allreduce(comm, x)
        rounds += 1
        if x[0] == comm.size:
            return rounds
