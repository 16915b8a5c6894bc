"""Part 2: what messages and all-reduces cost, by formula, on simulated ranks and as recorded."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
from matplotlib.figure import Figure

from benchmarks.recorded import head, sides
from ddl_class.notebook.animation import animate
from ddl_class.plots.messages import plot_times
from ddl_class.plots.player import MovingPicture
from ddl_class.plots.staging import plot_chunk_sizes
from ddl_measure.device_paths import ASSUMED
from ddl_measure.ping_pong import ping_pong
from ddl_runtime.pictures.timeline import plot_timeline
from ddl_runtime.pictures.words import size_text, time_text
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.collectives import hierarchical, linear, rabenseifner, recursive_doubling, ring
from ddl_teach.comm import DiagnosedError, TwoLevel, Uniform
from ddl_teach.theory import collectives as formulas
from ddl_teach.theory import staging
from ddl_teach.theory.crossover import crossovers
from ddl_teach.theory.machine import Link

LATENCY, BANDWIDTH = 1e-6, 10e9  # of the network that the figures describe
NETWORK = Uniform(latency=LATENCY, bandwidth=BANDWIDTH)
ALGORITHMS = MappingProxyType(
    {
        "linear": linear,
        "ring": ring,
        "recursive_doubling": recursive_doubling,
        "rabenseifner": rabenseifner,
    }
)
SIZES = [2**k for k in range(8, 27, 2)]
RANKS, MANY, MOST = 64, 4_096, 65_536
NEAR, FAR = Uniform(2e-7, 50e9), Uniform(5e-6, 5e9)  # inside a node, and between nodes
RECORDED_RANKS = "2 ranks"
RECORDED = ("native", "gloo", "ring", "recursive_doubling")


def reduce(comm: Comm, algorithm: str, nbytes: int) -> None:
    """An all-reduce of so many bytes, by an algorithm's name."""
    ALGORITHMS[algorithm].allreduce(comm, Phantom(nbytes))


def predicted(algorithm: str, ranks: int, nbytes: int) -> float:
    """The formula on the network above."""
    return formulas.formula(algorithm)(ranks, nbytes, Link.of(NETWORK))


def one_message() -> Figure:
    """The line through the times of simulated messages."""
    sizes = [2**k for k in range(0, 25, 2)]
    times = [
        simulate(ping_pong, 2, network=NETWORK, nbytes=nbytes, turns=1).results[0]
        for nbytes in sizes
    ]
    line = [LATENCY + nbytes / BANDWIDTH for nbytes in sizes]
    title = "Flat up to where latency and bytes cost the same, then a straight line"
    picture = plot_times({"ping-pong": (sizes, line)}, {"ping-pong": (sizes, times)}, title=title)
    picture.axes[0].set_xlabel("size of one message (bytes)")
    return picture


def half_bandwidth() -> str:
    """The size that takes as long as the latency."""
    return f"{LATENCY * BANDWIDTH:,.0f} bytes"


def receives_first(comm: Comm) -> None:
    """All ranks wait for the left neighbour before they send to the right one."""
    x = np.zeros(1)
    comm.recv(x, (comm.rank - 1) % comm.size)
    comm.send(x, (comm.rank + 1) % comm.size)


def deadlock_story() -> str:
    """What the course says when three ranks do that."""
    try:
        simulate(receives_first, 3)
    except DiagnosedError as story:
        return "\n\n".join(str(story).split("\n\n")[:2])
    raise AssertionError("three ranks that all receive first must hang")


def moving(algorithm: str, ranks: int, chunks: int | None = None) -> MovingPicture:
    """An all-reduce that moves, without its program, which a slide before shows larger."""
    film = animate(ALGORITHMS[algorithm].allreduce, ranks, chunks=chunks).film
    return MovingPicture(replace(film, lines=(), places=()))


def ring_timeline() -> Figure:
    """A ring on eight ranks."""
    program = partial(reduce, algorithm="ring", nbytes=80_000)
    return plot_timeline(simulate(program, 8, network=NETWORK).timeline)


def sizes() -> Figure:
    """Predicted and simulated times over sizes."""
    lines = {
        name: (SIZES, [predicted(name, RANKS, size) for size in SIZES]) for name in ALGORITHMS
    }
    squares = {
        name: (SIZES, [_simulated(name, nbytes) for nbytes in SIZES]) for name in ALGORITHMS
    }
    return plot_times(lines, squares)


def crossover() -> str:
    """From which size on the ring is faster than recursive doubling on these ranks."""
    [meeting] = crossovers("recursive_doubling", "ring", RANKS, Link.of(NETWORK))
    return size_text(meeting.nbytes)


def largest_ring() -> str:
    """The latencies alone of a ring of 65,536 ranks."""
    return time_text(predicted("ring", MOST, 0))


def many_doubling() -> str:
    """A number on 4,096 simulated ranks, by recursive doubling."""
    program = partial(reduce, algorithm="recursive_doubling", nbytes=8)
    return time_text(simulate(program, MANY, network=NETWORK, trace=False).time)


def two_levels() -> str:
    """64 ranks on 8 nodes: a flat ring and a hierarchical all-reduce of 64 KiB."""
    network = TwoLevel(8, inside=NEAR, between=FAR)

    def program(comm: Comm) -> float:
        groups = hierarchical.form_groups(comm)
        comm.barrier()
        begun = comm.now()
        hierarchical.allreduce(comm, Phantom(2**16, 4), groups=groups)
        return comm.now() - begun

    tiered = max(simulate(program, 64, network=network).results)
    flat = simulate(partial(reduce, algorithm="ring", nbytes=2**16), 64, network=network).time
    return f"a flat ring {time_text(flat)}, first inside the nodes {time_text(tiered)}"


def chunk_sizes() -> Figure:
    """A message of 16 MiB between devices over the size of its chunks."""
    nbytes = 2**24
    chunks = [2**k for k in range(14, 25)]
    times = [staging.pipelined(nbytes, chunk, ASSUMED) for chunk in chunks]
    others = {
        "direct": staging.direct(nbytes, ASSUMED.wire),
        "staged": staging.staged(nbytes, ASSUMED),
    }
    best = staging.best_chunk(nbytes, ASSUMED)
    return plot_chunk_sizes((chunks, times), nbytes=nbytes, best=best, others=others)


def recorded() -> Figure:
    """Ours beside native MPI and gloo, on real ranks."""
    by_name: dict[str, tuple[list, list, tuple[list, list]]] = {
        name: ([], [], ([], [])) for name in RECORDED
    }
    for side in sides("allreduce.txt"):
        ranks, _, nbytes = side.of.partition(", ")
        if ranks != RECORDED_RANKS:
            continue
        for name, (where, medians, (lows, highs)) in by_name.items():
            where.append(int(nbytes))
            row = side.rows[name]
            for values, value in ((medians, row.median), (lows, row.low), (highs, row.high)):
                values.append(value * 1e-6)
    return plot_times(measured=by_name)


def recorded_where() -> str:
    """The machine of these numbers."""
    about = head("allreduce.txt")
    return f"{RECORDED_RANKS}, {about['processor']}, {about['MPI library']}, {about['date']}"


def _simulated(algorithm: str, nbytes: int) -> float:
    program = partial(reduce, algorithm=algorithm, nbytes=nbytes)
    return simulate(program, RANKS, network=NETWORK, trace=False).time
