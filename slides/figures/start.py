"""The first hour: the field in numbers, the map of the course, a rank program on three grounds."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ddl_class.exercises.registry import find_exercise, units
from ddl_class.release.curriculum import LESSONS, PARTS
from ddl_runtime.pictures.style import INK, describe, in_style, new_axes
from ddl_runtime.pictures.words import time_text
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.collectives import recursive_doubling, ring
from ddl_teach.comm import Uniform

# Each training's year, weights, processors and batch, with its source.
TRAININGS = Path(__file__).resolve().parents[2] / "benchmarks" / "published" / "models.csv"


class Training(NamedTuple):
    """A row of the table; what was not published is 0."""

    year: int
    model: str
    weights: float
    processors: float
    batch: float
    unit: str


def trainings() -> list[Training]:
    """All rows, the earliest first."""
    with TRAININGS.open(encoding="utf-8", newline="") as file:
        return [
            Training(
                int(row["year"]), row["model"], float(row["weights"]),
                float(row["processors"] or 0), float(row["batch"] or 0), row["unit"],
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip


@in_style
def machines() -> Figure:
    """How many processors one training takes."""
    shown = [each for each in trainings() if each.processors]
    heights = [each.processors for each in shown]
    years = shown[-1].year - shown[0].year
    title = f"From {heights[0]:,.0f} to {max(heights):,.0f} processors in {years} years"
    return _over_the_years(shown, heights, title, "processors", ("pictures", "texts"))


@in_style
def batches() -> Figure:
    """How large batches became."""
    shown = [each for each in trainings() if each.batch]
    first, largest = shown[0], max(shown, key=lambda each: each.batch)
    title = f"{first.batch:,.0f} {first.unit} in {first.year}, {largest.batch / 1e6:.0f} million"
    title += f" {largest.unit} in {largest.year}"
    heights = [each.batch for each in shown]
    return _over_the_years(shown, heights, title, "size of a batch", ("images", "tokens"))


def _over_the_years(
    shown: list[Training], heights: list[float], title: str, quantity: str, kinds: tuple[str, str]
) -> Figure:
    """A point for each training, with its name; pictures and texts in two colours and forms."""
    ax = new_axes(9.0, 4.4)
    names: dict[tuple[int, float], list[str]] = {}
    for each, height in zip(shown, heights, strict=True):
        text = each.unit != "images"
        ax.plot(each.year, height, "so"[text], color=("#4477aa", "#cc3311")[text])
        names.setdefault((each.year, height), []).append(each.model)
    for (year, height), models in names.items():
        # What was the largest until then has its name at the left, the others at the right.
        largest = height == max(high for then, high in names if then <= year)
        above = largest or any(then == year and high < height for then, high in names)
        ax.annotate(", ".join(dict.fromkeys(models)), (year, height),
                    (-6 if largest else 6, 1 if above else -2), ha="right" if largest else "left",
                    va="bottom" if above else "top", textcoords="offset points",
                    color=INK)  # fmt: skip
    for kind, mark, colour in zip(kinds, "so", ("#4477aa", "#cc3311"), strict=True):
        ax.plot([], [], mark, color=colour, label=kind)
    ax.set_yscale("log")
    ax.margins(x=0.14, y=0.12)
    ax.set_xlabel("year")
    ax.set_ylabel(quantity)
    ax.legend(loc="lower right")
    ax.set_title(title)
    told = "; ".join(f"{place[0]} {', '.join(names[place])}: {place[1]:,.0f}" for place in names)
    describe(ax.figure, f"{title}. {told}.")
    return ax.figure


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


def hint_of_first() -> str:
    """The first hint to the first exercise."""
    return find_exercise("00.neighbours").hints[0]


@in_style
def node() -> Figure:
    """A server with eight GPUs, and what joins its parts."""
    ax = new_axes(9.0, 4.8)
    for side in (0, 1):
        x = 2.0 + 4.4 * side
        _part(ax, x, 4.0, 2.6, f"processor {side}\nand main memory", "#ccbb44")
        for k in range(4):
            at = x - 1.65 + 1.1 * k
            ax.plot([x, at], [3.7, 2.9], color=INK, linewidth=1)
            _part(ax, at, 2.65, 0.95, "PCIe", "#dddddd")
            _part(ax, at - 0.26, 1.55, 0.44, "card", "#66ccee")
            _part(ax, at + 0.26, 1.55, 0.44, f"GPU\n{4 * side + k}", "#228833", "white")
            for part in (-0.26, 0.26):
                ax.plot([at, at + part], [2.35, 1.85], color=INK, linewidth=1)
            ax.plot([at + 0.26] * 2, [1.25, 0.75], color="#228833", linewidth=4)
    ax.plot([3.3, 5.1], [4.0, 4.0], color=INK, linewidth=3)
    _part(ax, 4.2, 0.45, 8.4, "NVLink switches: each GPU to each other one", "#228833", "white")
    ax.set_xlim(-0.1, 8.5)
    ax.set_ylim(0, 4.5)
    ax.set_axis_off()
    title = "A server with eight GPUs: three distances for a message"
    ax.set_title(title)
    describe(ax.figure, f"{title}. Two processors; on each four PCIe switches, each with a network"
             " card and a GPU; NVLink switches below join all eight GPUs.")  # fmt: skip
    return ax.figure


def _part(
    ax: Axes, x: float, y: float, wide: float, name: str, colour: str, ink: str = INK
) -> None:
    """A box with its name."""
    ax.add_patch(Rectangle((x - wide / 2, y - 0.3), wide, 0.6, facecolor=colour, edgecolor="none"))
    ax.text(x, y, name, ha="center", va="center", color=ink)
