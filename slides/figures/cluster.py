"""Part 6: the same programs on many nodes; as recorded in a box, simulated, and by formula."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from matplotlib.figure import Figure

from benchmarks.box import ALGORITHMS, RANKS, SIZE
from benchmarks.recorded import RESULTS, head
from ddl_runtime.pictures.style import (
    INK,
    algorithm_colour,
    describe,
    in_style,
    new_axes,
    rank_colour,
)
from ddl_runtime.pictures.words import spoken, time_text
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.comm import Uniform
from ddl_teach.theory import data_parallel
from ddl_teach.theory.collectives import formula
from ddl_teach.theory.crossover import crossovers
from ddl_teach.theory.machine import Link

FITTED = re.compile(r"^latency (\d+) us, ([\d.]+) ns a byte \(([\d.]+) Mbit/s", re.MULTILINE)
ROW = re.compile(
    r"^(\w+) +[\d.]+ ms +([\d.]+) ms +[\d.]+ \[([\d.]+), ([\d.]+)\] +([\d,]+) B +([\d,]+) B$",
    re.MULTILINE,
)
ALONE = 10.0  # seconds of one node for the whole batch, assumed
NODES = 2 ** np.arange(0, 9)
NETWORKS = {  # latency in seconds, bytes a second
    "1 Gbit/s, 30 µs": (30e-6, 1.25e8),
    "10 Gbit/s, 10 µs": (10e-6, 1.25e9),
    "100 Gbit/s, 2 µs": (2e-6, 1.25e10),
}


@dataclass(frozen=True)
class Timed:
    """An all-reduce on the nodes of a box; the ends of the interval are parts of the model."""

    seconds: float
    low: float
    high: float
    ledger: int
    card: int


@cache
def recorded(file: str) -> tuple[Uniform, dict[str, Timed]]:
    """The network as fitted to ping-pongs, and what each algorithm took on it."""
    text = (RESULTS / file).read_text()
    latency, per_byte, _ = map(float, FITTED.search(text).groups())
    rows = {}
    for name, took, low, high, *sent in ROW.findall(text):
        ledger, card = (int(number.replace(",", "")) for number in sent)
        rows[name] = Timed(float(took) * 1e-3, float(low), float(high), ledger, card)
    return Uniform(latency * 1e-6, 1e9 / per_byte), rows


def predicted(network: Uniform, name: str) -> float:
    """By formula: an all-reduce of the benchmark's size on its nodes."""
    return formula(name)(RANKS, SIZE, Link.of(network))


def _simulated(network: Uniform, name: str) -> float:
    program = partial(_reduce, name=name)
    return simulate(program, RANKS, network=network, trace=False).time


def _reduce(comm: Comm, name: str) -> None:
    ALGORITHMS[name].allreduce(comm, Phantom(SIZE))


def network_of_the_box() -> str:
    """What ping-pongs found."""
    latency, _, payload = FITTED.search((RESULTS / "box.txt").read_text()).groups()
    return f"{latency} µs and {payload} Mbit/s"


def box_where() -> str:
    """The machine below the box."""
    about = head("box.txt")
    return f"{about['cores']} cores of an {about['processor']}, {about['date']}"


@in_style
def three_grounds() -> Figure:
    """The formula, simulated ranks and the box's nodes, for each algorithm."""
    network, rows = recorded("box.txt")
    ax = new_axes(9.0, 3.9)
    words = []
    for place, (name, row) in enumerate(rows.items()):
        model, simulated = predicted(network, name), _simulated(network, name)
        colour = algorithm_colour(name)
        ends = [[row.seconds - row.low * model], [row.high * model - row.seconds]]
        ax.vlines(model * 1e3, place - 0.32, place + 0.32, color=colour, linewidth=3)
        ax.plot(simulated * 1e3, place, "s", markersize=13, color=colour, fillstyle="none")
        ax.errorbar(row.seconds * 1e3, place, xerr=np.abs(ends) * 1e3, fmt="o", color=colour,
                    capsize=5)  # fmt: skip
        words.append(
            f"{spoken(name)}: predicted {time_text(model)}, simulated {time_text(simulated)}, "
            f"measured {time_text(row.seconds)}"
        )
    ax.set_yticks(range(len(rows)), [spoken(name, first=True) for name in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 1.05e3 * max(row.seconds for row in rows.values()))
    ax.set_xlabel("time of an all-reduce of 2 MiB (ms)")
    ax.plot([], [], "|", color=INK, markersize=14, markeredgewidth=3, label="predicted")
    ax.plot([], [], "s", color=INK, markersize=11, fillstyle="none", label="simulated")
    ax.plot([], [], "o", color=INK, label="measured, with its interval")
    ax.figure.legend(loc="outside lower center", ncols=3)
    worst = max(row.seconds / predicted(network, name) for name, row in rows.items())
    title = f"Four nodes at 100 Mbit/s: measured at most {worst - 1:.0%} above the prediction"
    ax.set_title(title)
    describe(ax.figure, f"{title}. " + "; ".join(words) + ".")
    return ax.figure


def ring_sizes() -> dict[str, float]:
    """The size from which on a ring beats doubling on 64 ranks, network by network."""
    named = dict(NETWORKS) | {
        f"the box{label}": (network.latency, network.bandwidth)
        for label, network in (
            ("", recorded("box.txt")[0]),
            (", 1 ms on each cable", recorded("box_delayed.txt")[0]),
        )
    }
    found = {}
    for name, (latency, bandwidth) in named.items():
        [meeting] = crossovers("recursive_doubling", "ring", 64, Link(latency, 1 / bandwidth))
        found[name] = meeting.nbytes
    return found


def ring_begins_apart() -> str:
    """How many times the least of these sizes the largest is."""
    sizes = ring_sizes().values()
    return f"{max(sizes) / min(sizes):.0f}"


@in_style
def speed_up() -> Figure:
    """One batch shared by ever more nodes, with the gradients of GPT-2 to be summed."""
    nbytes = 4 * sum(data_parallel.gpt2_gradients())
    ax = new_axes(9.0, 4.2)
    words = []
    ax.plot(NODES, NODES, linestyle=":", color=INK)
    ax.annotate("a node each", (32, 32), (-8, 4), ha="right", textcoords="offset points")
    for place, (name, (latency, bandwidth)) in enumerate(NETWORKS.items()):
        seconds = [_step(int(nodes), nbytes, latency, bandwidth) for nodes in NODES]
        gained = ALONE / np.array(seconds)
        ax.plot(NODES, gained, marker="o", color=rank_colour(place))
        ax.annotate(name, (NODES[-1], gained[-1]), (8, 0), va="center", color=INK,
                    textcoords="offset points")  # fmt: skip
        words.append(f"{name}: {gained.max():.3g} times at {NODES[gained.argmax()]} nodes")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    for axis, most in ((ax.xaxis, 256), (ax.yaxis, 64)):
        ticks = 2 ** np.arange(0, int(np.log2(most)) + 1, 2)
        axis.set_ticks(ticks, [f"{tick}" for tick in ticks])
    ax.set_ylim(0.7, 90)
    ax.set_xlim(0.9, 1700)
    ax.set_xlabel("nodes that share one batch")
    ax.set_ylabel("times as fast as one")
    title = f"By formula: a batch of {ALONE:g} s of one node, then a ring over GPT-2's gradients"
    ax.set_title(title)
    describe(ax.figure, f"{title}. At most: " + "; ".join(words) + ".")
    return ax.figure


def _step(nodes: int, nbytes: int, latency: float, bandwidth: float) -> float:
    takes = formula("ring")(nodes, nbytes, Link(latency, 1 / bandwidth)) if nodes > 1 else 0.0
    return ALONE / nodes + takes
