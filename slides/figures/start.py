"""The first hour: the field in numbers, the map of the course, a rank program on three grounds."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ddl_class.exercises.registry import find_exercise, units
from ddl_class.release.curriculum import LESSONS, PARTS
from ddl_runtime.pictures.style import INK, describe, in_style, new_axes
from ddl_runtime.pictures.words import time_text
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.collectives import recursive_doubling, ring
from ddl_teach.comm import DiagnosedError, Uniform

# Processors that trained one network on ImageNet: GPUs, Xeon Phis, TPU chips.
MACHINES = {
    "Krizhevsky et al. 2012": 2,
    "Goyal et al. 2017": 256,
    "You et al. 2018": 2_048,
    "Ying et al. 2018": 1_024,
}
# Samples in the batches with which they reached the accuracy of smaller ones on ImageNet.
BATCHES = {
    "Krizhevsky et al. 2012": 128,
    "Goyal et al. 2017": 8_192,
    "You et al. 2018": 32_768,
    "Ying et al. 2018": 32_768,
}


@in_style
def machines() -> Figure:
    """How many processors one training takes."""
    return _bars(MACHINES, "processors", "processors")


@in_style
def batches() -> Figure:
    """How large batches became."""
    return _bars(BATCHES, "samples", "samples in a batch")


def _bars(numbers: dict[str, int], what: str, quantity: str) -> Figure:
    """A bar for each paper, by its authors and year, the earliest on top."""
    ax = new_axes(9.0, 3.6)
    names = list(numbers)[::-1]
    first, last = names[-1], names[0]
    years = int(last.split()[-1]) - int(first.split()[-1])
    title = f"From {numbers[first]:,} {what} to {max(numbers.values()):,} in {years} years"
    ax.barh(names, [numbers[name] for name in names], color="#4477aa")
    ax.set_xscale("log")
    for name in names:
        ax.annotate(f"{numbers[name]:,}", (numbers[name], name), (4, 0), va="center",
                    textcoords="offset points", color=INK)  # fmt: skip
    ax.margins(x=0.12)
    ax.set_xlabel(quantity)
    ax.set_title(title)
    describe(ax.figure, f"{title}. " + "; ".join(f"{k}: {v:,}" for k, v in numbers.items()) + ".")
    return ax.figure


def course_map() -> str:
    """Parts and units that have exercises, with the minutes planned for these."""
    titles = {unit.number: unit for unit in units()}
    rows = ["| part | units | exercises |", "|---|---|---|"]
    for part, numbers in PARTS.items():
        there = [titles[number] for number in numbers if number in titles]
        if there:
            named = ", ".join(f"{unit.number} {unit.title}" for unit in there)
            minutes = sum(one.minutes for unit in there for one in unit.exercises)
            rows.append(f"| {part} | {named} | {round(minutes / 60, 1)} h |")
    return "\n".join(rows)


def time_for(part: str) -> str:
    """What the exercises of a part take, those of its starred units and all: for its notes."""
    units_there = [unit for unit in units() if unit.number in PARTS[part]]
    minutes = {unit.number: sum(one.minutes for one in unit.exercises) for unit in units_there}
    starred = [number for number in minutes if LESSONS[number].starred]
    return (
        f"Exercises of this part: {sum(minutes.values())} minutes; of its starred units "
        f"({', '.join(starred)}) {sum(minutes[number] for number in starred)}."
    )


def everybody_says(comm: Comm) -> float:
    """A rank program: every rank brings its number, all get the sum."""
    x = np.full(1000, comm.rank, dtype=np.float32)
    ring.allreduce(comm, x)
    return float(x[0])


def said_by_four() -> str:
    """What it returns on four ranks."""
    return str(simulate(everybody_says, 4).results)


def on_many() -> str:
    """The virtual time of an all-reduce of a number on 4,096 ranks."""
    network = Uniform(latency=1e-6, bandwidth=10e9)

    def program(comm: Comm) -> None:
        recursive_doubling.allreduce(comm, Phantom(8))

    return time_text(simulate(program, 4096, network=network, trace=False).time)


def ledger() -> str:
    """What the ledger of rank 0 says about it."""
    book = simulate(everybody_says, 4).ledger[0]
    return f"{book.messages_sent} messages, {book.bytes_sent:,} bytes"


def polite(comm: Comm) -> None:
    """Two ranks that both let the other one speak first."""
    other, x = 1 - comm.rank, np.zeros(100)
    comm.recv(x, source=other)
    comm.send(x, to=other)


def polite_story() -> str:
    """What happens."""
    try:
        simulate(polite, 2)
    except DiagnosedError as story:
        return "\n\n".join(str(story).split("\n\n")[:2])
    raise AssertionError("two ranks that both receive first must hang")


def hint_of_first() -> str:
    """The first hint to the first exercise."""
    return find_exercise("00.neighbours").hints[0]
