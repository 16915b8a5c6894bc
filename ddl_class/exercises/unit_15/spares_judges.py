"""The machine of unit 15's puzzle, four workers and three machines to spare; a plain answer."""

import numpy as np

from ddl_runtime.topologies.shared_links import Star
from ddl_teach import Comm
from ddl_teach.collectives import ring

WORKERS, RANKS = 4, 7
SWITCH = Star(ports=RANKS, base_latency=5e-6, bandwidth=1e9, overhead=5e-7)


def in_a_ring(comm: Comm, x: np.ndarray) -> None:
    """What takes the learner's place until theirs is right: the workers alone."""
    group = comm.split(int(comm.rank < WORKERS))
    if comm.rank < WORKERS:
        ring.allreduce(group, x)
