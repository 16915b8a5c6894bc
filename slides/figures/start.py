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

# Trainings and processors that were published, each row with its source.
TRAININGS = Path(__file__).resolve().parents[2] / "benchmarks" / "published" / "models.csv"
DEVICES = TRAININGS.with_name("devices.csv")
MANY = 4096  # simulated ranks


class Training(NamedTuple):
    """A row of the table; what was not published is 0, or empty."""

    year: int
    model: str
    weights: float
    processors: float
    batch: float
    unit: str
    hardware: str
    nodes: float
    carried_by: str


def rows_of(path: Path) -> list[dict[str, str]]:
    """Of a table beside the trainings."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def trainings() -> list[Training]:
    """All rows, the earliest first."""
    return [
        Training(
            int(row["year"]), row["model"], float(row["weights"]),
            float(row["processors"] or 0), float(row["batch"] or 0), row["unit"],
            row["hardware"], float(row["nodes"] or 0), row["carried_by"],
        )
        for row in rows_of(TRAININGS)
    ]  # fmt: skip


@in_style
def machines() -> Figure:
    """How many processors one training takes, of which kind, and what carries its messages."""
    shown = [each for each in trainings() if each.processors]
    heights = [each.processors for each in shown]
    most = shown[int(np.argmax(heights))]
    title = f"From {heights[0]:,.0f} processors in {shown[0].year} to {most.processors:,.0f} in"
    title += f" {most.year}"
    looks = {
        f"{hardware}s": (mark, INK, [each.hardware == hardware for each in shown])
        for hardware, mark in (("GPU", "o"), ("TPU", "s"), ("CPU", "^"))
    }
    carriers = {"MPI": "#ccbb44", "NCCL": "#228833", "TPU": "#4477aa", "": "#bbbbbb"}
    names = {"NCCL": "NCCL, NCCLX", "TPU": "links of TPUs", "": "other, or not said"}
    colours = [
        next(colour for part, colour in carriers.items() if part in each.carried_by)
        for each in shown
    ]
    legend = {names.get(part, part): colour for part, colour in carriers.items()}
    aside = {"OPT": "left", "LLaMA": "above left", "DeepSeek-V3": "below"}
    return _over_the_years(shown, heights, title, "processors", looks, aside, (colours, legend))


@in_style
def models() -> Figure:
    """How many weights one network has."""
    shown = trainings()
    heights = [each.weights for each in shown]
    most = shown[int(np.argmax(heights))]
    title = f"From {heights[0] / 1e6:.0f} million weights in {shown[0].year} to"
    title += f" {most.weights / 1e12:.0f} trillion in {most.year}"
    looks = _looks("pictures", "texts", shown)
    return _over_the_years(
        shown,
        heights,
        title,
        "weights",
        looks,
        {
            "Kimi K2": "below",
            "Llama 3": "left",
            "DeepSeek-V3": "above left",
            "ResNet-50": "below",
        },
    )


@in_style
def batches() -> Figure:
    """How large batches became."""
    shown = [each for each in trainings() if each.batch]
    first, largest = shown[0], max(shown, key=lambda each: each.batch)
    title = f"{first.batch:,.0f} {first.unit} in {first.year}, {largest.batch / 1e6:.0f} million"
    title += f" {largest.unit} in {largest.year}"
    heights = [each.batch for each in shown]
    looks = _looks("images", "tokens", shown)
    return _over_the_years(shown, heights, title, "size of a batch", looks, {"Kimi K2": "right"})


@in_style
def devices() -> Figure:
    """What a processor can do, and its three distances, against the first one's."""
    table = rows_of(DEVICES)
    first, last = table[0], table[-1]
    years = [int(row["year"]) for row in table]
    ax = new_axes(9.0, 4.4)
    grown = {}
    columns = {"operations": "operations, 16 bits", "memory_rate": "its memory",
               "to_node": "to its node", "to_others": "to other nodes"}  # fmt: skip
    for (column, name), mark in zip(columns.items(), "os^D", strict=True):
        times = [float(row[column]) / float(first[column]) for row in table]
        ax.plot(years, times, f"{mark}-", label=name)
        grown[name] = times[-1]
    ax.set_yscale("log")
    ax.set_xlabel("year")
    ax.set_ylabel(f"times those of a {first['device']}")
    for year, row in zip(years, table, strict=True):
        ax.annotate(row["device"], (year, 0.78), ha="center", va="top", color=INK)
    ax.set_ylim(0.5, 200)
    ax.margins(x=0.08)
    ax.legend(loc="upper left")
    operations, *links = grown.values()
    title = f"From {years[0]} to {years[-1]} operations grew {operations:.0f} times,"
    title += f" links {min(links):.0f} to {max(links):.0f} times"
    ax.set_title(title)
    told = "; ".join(f"{name} {times:.1f} times" for name, times in grown.items())
    describe(ax.figure, f"{title}. A {last['device']} beside a {first['device']}: {told}.")
    return ax.figure


Looks = dict[str, tuple[str, str, list[bool]]]


def _looks(of_pictures: str, of_texts: str, shown: list[Training]) -> Looks:
    """Pictures and texts in two forms and colours."""
    pictures = [each.unit == "images" for each in shown]
    texts = [not is_one for is_one in pictures]
    return {of_pictures: ("s", "#4477aa", pictures), of_texts: ("o", "#cc3311", texts)}


def _over_the_years(
    shown: list[Training], heights: list[float], title: str, quantity: str, looks: Looks,
    aside: dict[str, str], coloured: tuple[list[str], dict[str, str]] | None = None,
) -> Figure:  # fmt: skip
    """A point for each training, with its name; of each look its form and colour, and which have
    it; or coloured otherwise, with what each colour says. Names that would meet stand `aside`."""
    ax = new_axes(9.0, 4.4)
    names: dict[tuple[int, float], list[str]] = {}
    for place, (each, height) in enumerate(zip(shown, heights, strict=True)):
        mark, colour = next(look[:2] for look in looks.values() if look[2][place])
        ax.plot(each.year, height, mark, color=coloured[0][place] if coloured else colour)
        names.setdefault((each.year, height), []).append(each.model)
    written: set[tuple[str, float]] = set()
    for (year, height), there in names.items():
        name = ", ".join(dict.fromkeys(there))
        if (name, height) in written:  # the same network in the next year
            continue
        written.add((name, height))
        # What was the largest until then has its name at the left, the others at the right.
        largest = height == max(high for then, high in names if then <= year)
        above = largest or any(then == year and high < height for then, high in names)
        side = aside.get(name, "left" if largest else "right")
        where, along, across = {
            "left": ((-6, 1 if above else -2), "right", "bottom" if above else "top"),
            "right": ((6, 1 if above else -2), "left", "bottom" if above else "top"),
            "above left": ((2, 5), "right", "bottom"),
            "below": ((0, -7), "center", "top"),
        }[side]
        ax.annotate(name, (year, height), where, ha=along, va=across,
                    textcoords="offset points", color=INK)  # fmt: skip
    for name, (mark, colour, _) in looks.items():
        ax.plot([], [], mark, color=colour, label=name)
    if coloured:
        ax.plot([], [], " ", label=" ")  # forms in one column, colours in the next
    for name, colour in (coloured[1] if coloured else {}).items():
        ax.plot([], [], "o", color=colour, label=name)
    ax.set_yscale("log")
    ax.margins(x=0.14, y=0.12)
    ax.set_xlabel("year")
    ax.set_ylabel(quantity)
    ax.legend(loc="upper left" if coloured else "lower right", ncols=2 if coloured else 1)
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

    return time_text(simulate(program, MANY, network=network, trace=False).time)


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
    ax.set_xlim(-0.2, 8.6)
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
