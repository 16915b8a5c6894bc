"""What a message costs on the learner's own ranks, as a `Cluster` that the formulas of grids take.

Two ranks play ping-pong with balls of several sizes, and a line through the times gives latency
and bandwidth: for engines on one machine, a node; for ranks on many nodes within one and between.
What to look at: these are two ranks alone. Where four compute and send at once it takes longer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ddl_measure.near_and_far import Pings
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


def these_nodes(pings: Mapping[str, Pings | None], nodes: Sequence[int], flops: float) -> Cluster:
    """The cluster that `near_and_far` has seen; `nodes` are those of its ranks, in their order.

    Where nodes have unlike numbers of ranks no axis can count on staying inside one.
    """
    sizes = set(Counter(nodes).values())
    each = sizes.pop() if len(sizes) == 1 else 1
    within = pings["within"] or pings["between"]
    inside, outside = (
        fit(way["bytes"], way["seconds"]).link for way in (within, pings["between"] or within)
    )
    return Cluster(len(nodes) // each, each, inside=inside, between=outside, flops=flops)
