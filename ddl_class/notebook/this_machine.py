"""What a message costs on the learner's own ranks, as a `Cluster` that the formulas of grids take.

Two ranks play ping-pong with balls of several sizes, and a line through the times gives latency
and bandwidth.
What to look at: these are two ranks alone. Where four compute and send at once it takes longer.
"""

from typing import Any

import numpy as np

from ddl_measure.ping_pong import ping_pong
from ddl_teach.theory.fit import fit
from ddl_teach.theory.machine import Cluster

BALLS = 4 ** np.arange(4, 11)  # bytes
TURNS = 50


def this_machine(engines: Any, flops: float) -> Cluster:
    """The engines' machine, whose ranks compute `flops` operations a second each."""
    run = engines.run(
        lambda comm: [ping_pong(comm, ball, TURNS) for ball in BALLS], 2, trace=False, strict=False
    )
    inside = fit(BALLS, run.results[0]).link
    return Cluster(ranks_per_node=engines.size, inside=inside, flops=flops)
