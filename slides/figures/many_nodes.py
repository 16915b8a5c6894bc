"""Part 6, the capstone and the labs: ranks that share a cable, and nodes that fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.frame import plane
from ddl_class.plots.many_nodes import plot_share_of_work
from ddl_measure.traffic import between_nodes
from ddl_runtime.pictures.style import Picture, Points, rank_colour
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.theory import failures
from ddl_teach.theory.machine import Cluster, Link
from ddl_teach.theory.many_nodes import by_leaders, by_parts, one_ring

NODES, EACH, NBYTES = 4, 2, 2**21
IN_ORDER = [rank // EACH for rank in range(NODES * EACH)]
DEALT = [rank % NODES for rank in range(NODES * EACH)]

RESNET, WORK, GPUS = 102_000_000, 0.1, 8  # bytes, seconds of a step, of a node: as in unit 20
RACED = 64  # nodes
LINKS = Link(2e-6, 1 / 300e9), Link(5e-6, 1 / 25e9)

SAVE, RESTART, YEAR = 60.0, 300.0, 365 * 86_400.0  # seconds, assumed; a node fails once a year
CLUSTERS = (16, 256, 4096)


def sent(algorithm: ModuleType, node_of: list[int]) -> list[int]:
    """Bytes that each node sends to others."""

    def program(comm: Comm) -> None:
        algorithm.allreduce(comm, Phantom(NBYTES))

    return between_nodes(simulate(program, len(node_of)).ledger, node_of)


def parts_or_one_ring() -> Figure:
    """The share of a step that is work, over nodes; a card for each GPU."""
    counts = [2**power for power in range(1, 12)]
    clusters = [Cluster(count, GPUS, GPUS, *LINKS) for count in counts]
    ways = {
        "one ring": one_ring,
        "eight rings": _eight_rings,
        "leaders": by_leaders,
        "by parts": by_parts,
    }
    lines = {
        name: (counts, [WORK / (WORK + way(cluster, RESNET)) for cluster in clusters])
        for name, way in ways.items()
    }
    return plot_share_of_work(lines, {})


def _eight_rings(cluster: Cluster, nbytes: int) -> float:
    """At the least: a ring through each card, which share what a GPU sends inside its node."""
    inside = cluster.inside.shared(cluster.cards)
    return one_ring(replace(cluster, inside=inside), nbytes / cluster.cards)


def ring_over_parts(rings: int = 1) -> str:
    """How many times as long as by parts one ring takes on 64 nodes, or one through each card."""
    case = Cluster(RACED, GPUS, GPUS, *LINKS), RESNET
    way = one_ring if rings == 1 else _eight_rings
    return f"{way(*case) / by_parts(*case):.1f}"


def how_often_to_save() -> Figure:
    """What failures and saves cost, over the interval between two checkpoints."""
    every = np.geomspace(60, 86_400, 60)
    means = {nodes: YEAR / nodes for nodes in CLUSTERS}
    curves = {
        nodes: (every, [failures.expected(1.0, one, SAVE, RESTART, mean) for one in every])
        for nodes, mean in means.items()
    }
    young = {nodes: failures.young(SAVE, mean) for nodes, mean in means.items()}
    return plot_checkpoints(curves, young)


def plot_checkpoints(
    curves: Mapping[int, Points], young: Mapping[int, float], *, title: str | None = None
) -> Picture:
    """Draw expected time over the seconds between saves, as a multiple of the work's own, by
    nodes; dots are the intervals of `young`'s rule."""
    about = "seconds between two checkpoints"
    ax = plane(about, "time, over that without failures and saves", width=8.0)
    for place, (nodes, (every, times)) in enumerate(curves.items()):
        colour = rank_colour(place)
        ax.plot(every, times, color=colour, label=f"{nodes:,} nodes")
        ax.plot(young[nodes], np.interp(young[nodes], every, times), "o", color=colour)
    ax.set(xscale="log", ylim=(0.95, 2.5))
    valleys = []
    for nodes in (min(curves), max(curves)):
        every, times = curves[nodes]
        best = int(np.argmin(times))
        valleys.append(f"{nodes:,} nodes every {every[best] / 60:.0f} min ({times[best]:.2f})")
    found = f"Best saved: {', '.join(valleys)}"
    legend = {"loc": "upper center", "ncols": len(curves)}
    return ax.finish(f"Time over the {about}", found, title, grid="", legend=legend)


def best_interval() -> str:
    """For the middle one of these clusters, in minutes."""
    return f"{failures.young(SAVE, YEAR / CLUSTERS[1]) / 60:.0f} minutes"
