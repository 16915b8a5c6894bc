"""What a message costs on the learner's engines, as a `Cluster` that the formulas of grids take.

All engines are on one machine, a node; two of them play ping-pong with balls of several sizes, and
a line through the times gives latency and bandwidth.
What to look at: these are two ranks alone. Where four compute and talk at once it takes longer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddl_teach.measure.ping_pong import ping_pong
from ddl_teach.theory.fit import fit
from ddl_teach.theory.grids.cluster import Cluster

BALLS = 4 ** np.arange(4, 11)  # bytes
TURNS = 50


def this_machine(engines: Any, flops: float) -> Cluster:
    """The engines' machine, whose ranks compute `flops` operations a second each."""
    run = engines.run(
        lambda comm: [ping_pong(comm, ball, TURNS) for ball in BALLS], 2, trace=False
    )
    model = fit(BALLS, run.results[0])
    return Cluster(
        ranks_per_node=engines.size, flops=flops,
        latency_inside=model.latency, per_byte_inside=model.per_byte,
    )  # fmt: skip
