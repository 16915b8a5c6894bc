"""What a message costs on the learner's own ranks, as a `Cluster` that the formulas of grids take.

Two ranks play ping-pong with balls of several sizes, and a line through the times gives latency
and bandwidth: for engines on one machine, a node; for ranks on many nodes within one and between.
What to look at: these are two ranks alone. Where four compute and talk at once it takes longer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ddl_measure.near_and_far import Pings
from ddl_measure.ping_pong import ping_pong
from ddl_teach.theory.fit import fit
from ddl_teach.theory.grids.grid import Cluster

BALLS = 4 ** np.arange(4, 11)  # bytes
TURNS = 50


def this_machine(engines: Any, flops: float) -> Cluster:
    """The engines' machine, whose ranks compute `flops` operations a second each."""
    run = engines.run(
        lambda comm: [ping_pong(comm, ball, TURNS) for ball in BALLS], 2, trace=False, strict=False
    )
    model = fit(BALLS, run.results[0])
    return Cluster(
        ranks_per_node=engines.size, flops=flops,
        latency_inside=model.latency, per_byte_inside=model.per_byte,
    )  # fmt: skip


def these_nodes(pings: Mapping[str, Pings | None], nodes: Sequence[int], flops: float) -> Cluster:
    """The cluster that `near_and_far` has seen; `nodes` are those of its ranks, in their order.

    Where nodes have unlike numbers of ranks no axis can count on staying inside one.
    """
    each = set(Counter(nodes).values())
    within = pings["within"] or pings["between"]
    inside, outside = (
        fit(one["bytes"], one["seconds"]) for one in (within, pings["between"] or within)
    )
    return Cluster(
        ranks_per_node=each.pop() if len(each) == 1 else 1, flops=flops,
        latency_inside=inside.latency, per_byte_inside=inside.per_byte,
        latency_between=outside.latency, per_byte_between=outside.per_byte,
    )  # fmt: skip
