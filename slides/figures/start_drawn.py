"""Diagrams of the first hour: levels, memories, grounds, waits, and the stack of software."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ddl_class.exercises.registry import units
from ddl_class.plots.svg import Drawing
from ddl_class.release.curriculum import LESSONS, PARTS
from ddl_runtime.pictures.style import rank_colour
from ddl_runtime.pictures.words import time_text
from ddl_teach import Comm, simulate
from ddl_teach.comm import DiagnosedError, Uniform
from slides.figures.sketch import (
    INK,
    PALE,
    QUIET,
    STRONG,
    WARM,
    WIDTH,
    Sketch,
    between,
    round_a_circle,
)
from slides.figures.start import everybody_says, ledger, on_many, polite

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks" / "source"
FIRST = "00_machine"
FIELD = Path(__file__).resolve().parents[2] / "docs" / "the_field.md"
CARRIERS = re.compile(
    r"Of the (\d+) papers in the survey, (\d+) say .*?, and (\d+) of these used MPI"
)


def levels() -> Drawing:
    """From an operation to many trainings, with what runs at once on each level."""
    rows = (
        ("operators", "inside one layer", "sums, products, tiles", "01 to 04"),
        ("networks", "across layers and samples", "data, tensor, pipeline", "08 to 12"),
        ("training", "when ranks agree", "each step, seldom, never quite", "13, 14"),
        ("distribution", "which way, in what form", "server, ring, neighbours", "15, 16"),
    )
    sketch = Sketch(
        "Four levels, each around the one before: "
        + "; ".join(f"{name}, {what}, units {where}" for name, what, _, where in rows)
    )
    for number, (name, what, example, where) in enumerate(reversed(rows)):
        x, y, level = 70 * number, 62 * number, len(rows) - number
        colour = (PALE, "#c9c2e8", "#8f83cc", STRONG)[number]
        sketch.box(x, y, WIDTH - 2 * x, 500 - y - 12 * number, fill=colour)
        ink = "#ffffff" if number > 1 else INK
        sketch.words(x + 24, y + 30, f"{level}. {name}: {what}", 24, "start", ink, True)
        if number == len(rows) - 1:
            sketch.words(WIDTH / 2, 350, example, 26, colour=ink)
        sketch.words(WIDTH - x - 24, y + 30, f"units {where}", 20, "end", ink)
    return sketch.drawing


def course() -> Drawing:
    """Hours of exercises of each part; the starred units are those of half a day."""
    there = {unit.number: sum(each.minutes for each in unit.exercises) for unit in units()}
    sketch = Sketch(
        "Hours of exercises by part: "
        + "; ".join(
            f"{part} {sum(there.get(n, 0) for n in numbers) / 60:.1f}"
            for part, numbers in PARTS.items()
        )
    )
    scale = 800 / max(sum(there.get(n, 0) for n in numbers) for numbers in PARTS.values())
    for row, (part, numbers) in enumerate(PARTS.items()):
        x, y = 205.0, 58 * row
        sketch.words(190, y + 24, part, 22, "end")
        for number in numbers:
            wide = scale * there.get(number, 0)
            if wide:
                starred = LESSONS[number].starred
                sketch.box(
                    x,
                    y,
                    wide - 3,
                    48,
                    number if wide > 28 else "",
                    STRONG if starred else "#c9c2e8",
                    19,
                )
            x += wide
        hours = sum(there.get(number, 0) for number in numbers) / 60
        sketch.words(x + 12, y + 24, f"{hours:.1f} h", 21, "start")
    sketch.words(
        WIDTH - 8,
        484,
        "a box is a unit, as wide as its exercises are long; dark: half a day",
        19,
        "end",
        QUIET,
    )
    return sketch.drawing


def memories() -> Drawing:
    """Four ranks with an x each, before and after the sum."""
    after = simulate(everybody_says, 4).results
    sketch = Sketch(f"Four memories: x is the rank's number before, {after} after", 640, 640)
    for rank, total in enumerate(after):
        x = 10 + 158 * rank
        sketch.box(x, 100, 145, 530, fill="#f7f6fb", edge="#999999")
        sketch.rank(x + 72, 50, rank, 42)
        for y, name, value in ((130, "before", rank), (430, "after", total)):
            sketch.words(x + 72, y + 10, name, 26, colour=QUIET)
            colour = rank_colour(rank) if name == "before" else "#ddaa33"
            sketch.box(x + 6, y + 44, 133, 90, f"{value:g} {value:g} …", colour, 30)
        sketch.arrow((x + 72, 286), (x + 72, 410), QUIET, 6)
    return sketch.drawing


def grounds() -> Drawing:
    """The same function on simulated ranks, on processes, and on nodes."""
    parts = (
        ("simulate", f"4,096 ranks\nin {on_many()} of virtual time", "this process"),
        ("launch", "4 real processes of MPI", "this laptop"),
        ("run --box, srun", "nodes with cables", "a box, or a cluster"),
    )
    sketch = Sketch(
        "One program on three grounds; each gives back results, time, ledger, timeline"
    )
    sketch.box(395, 0, 360, 62, "def program(comm):", STRONG, 26, bold=True)
    for number, (call, what, where) in enumerate(parts):
        x = 390 * number
        sketch.arrow((575, 66), (x + 185, 110), QUIET, 4)
        sketch.box(x, 116, 370, 225, fill=PALE)
        sketch.words(x + 185, 145, call, 26, bold=True, colour=STRONG)
        sketch.words(x + 185, 270, f"{what}\n{where}", 22)
        for rank in range((36, 4, 4)[number]):
            at = (x + 20 + 9.4 * rank, 195) if number == 0 else (x + 68 + 80 * rank, 195)
            if number == 2:
                sketch.box(at[0] - 34, 168, 68, 54, fill="#dddddd")
            sketch.drawing.circle(*at, 4 if number == 0 else 19, fill=rank_colour(rank % 9))
        sketch.arrow((x + 185, 345), (x + 185, 388), QUIET, 4)
    sketch.box(
        0,
        394,
        WIDTH,
        62,
        f"results, time, timeline, and a ledger: rank 0 has {ledger()}",
        "#ddaa33",
        26,
    )
    return sketch.drawing


def rhythm() -> Drawing:
    """Six steps of a unit."""
    steps = (
        ("look", "a question,\na picture"),
        ("predict", "commit to\na number"),
        ("write", "your own\nfunction"),
        ("check", "what is wrong,\nand why"),
        ("compare", "computed,\nsimulated,\nmeasured"),
        ("explain", "the surprise"),
    )
    sketch = Sketch("A unit: " + ", ".join(f"{a}: {b}" for a, b in steps).replace("\n", " "))
    for number, (name, what) in enumerate(steps):
        x = 192 * number
        colour = WARM if name == "predict" else STRONG
        corners = [
            (x, 30),
            (x + 150, 30),
            (x + 185, 150),
            (x + 150, 270),
            (x, 270),
            (x + 35, 150),
        ]
        sketch.drawing.line(corners, fill=colour, stroke="none")
        sketch.words(x + 100, 150, name, 26, colour="#ffffff", bold=True)
        sketch.words(x + 90, 380, what, 26)
    return sketch.drawing


def waiting() -> Drawing:
    """Who waits for whom, as the error's data have it."""
    try:
        simulate(polite, 2)
    except DiagnosedError as error:
        cycle = error.cycle
    sketch = Sketch(f"Ranks {', '.join(map(str, cycle))} wait for each other in a ring", 640, 640)
    places = {rank: (250, 110 + 330 * place) for place, rank in enumerate(cycle)}
    (x, top), (_, low) = places.values()
    for begin, end, aside in ((top, low, -45), (low, top, 45)):
        sketch.arrow(*between((x + aside, begin), (x + aside, end), 85), WARM, 9)
        anchor = "end" if aside < 0 else "start"
        sketch.words(x + 1.6 * aside, (top + low) / 2, "waits for", 30, anchor)
    for rank, place in places.items():
        sketch.rank(*place, rank, 88)
        sketch.words(place[0] + 110, place[1], "receives\nfirst", 30, "start")
    sketch.words(320, 600, "so neither ever sends", 36, bold=True)
    return sketch.drawing


def ball() -> Drawing:
    """A ping-pong of two ranks over time, and one clock that reads both ways."""

    def program(comm: Comm) -> float:
        x, begun = np.zeros(1000), comm.now()
        for turn in range(2):
            if comm.rank == turn:
                comm.send(x, 1 - comm.rank)
            else:
                comm.recv(x, 1 - comm.rank)
        return comm.now() - begun

    took = simulate(program, 2, network=Uniform(1e-6, 10e9)).results[0]
    sketch = Sketch(f"Rank 0 sends a ball, rank 1 returns it: {time_text(took)} on one clock")
    for rank, y in enumerate((110, 370)):
        sketch.rank(50, y, rank, 42)
        sketch.arrow((105, y), (1130, y), QUIET, 3)
    sketch.words(1090, 402, "time", 22, colour=QUIET)
    sketch.arrow((180, 114), (520, 362), WARM, 7)
    sketch.arrow((580, 362), (920, 118), WARM, 7)
    sketch.words(290, 250, "ping", 30, colour=WARM, bold=True)
    sketch.words(815, 250, "pong", 30, colour=WARM, bold=True)
    sketch.drawing.line([(180, 60), (920, 60)], stroke=STRONG, stroke_width=6)
    sketch.words(
        550,
        30,
        f"{time_text(took)} on the clock of rank 0: a message takes half",
        26,
        bold=True,
        colour=STRONG,
    )
    sketch.words(550, 440, "8,000 bytes, 1 µs of latency, 10 GB/s, simulated", 21, colour=QUIET)
    return sketch.drawing


def two_turns() -> Drawing:
    """Around a circle of five: even ranks send first, and where that leaves two neighbours."""
    sketch = Sketch("Five ranks in a circle: 0, 2 and 4 send first; 4 and 0 are neighbours")
    for side, count in enumerate((4, 5)):
        middle = 290 + 570 * side
        places = round_a_circle(count, middle, 225, 165)
        for rank, place in enumerate(places):
            first = rank % 2 == 0
            both = first and (rank + 1) % count % 2 == 0
            begin, end = between(place, places[(rank + 1) % count], 50)
            sketch.arrow(begin, end, WARM if first else "#88ccee", 9 if both else 5)
        for rank, place in enumerate(places):
            sketch.rank(*place, rank, 42)
        sketch.words(middle, 455, f"{count} ranks", 28, bold=True)
    sketch.words(575, 60, "orange:\nfirst turn", 24, colour=WARM, bold=True)
    sketch.words(575, 140, "blue:\nsecond turn", 24, colour="#0b4f8a", bold=True)
    return sketch.drawing


def stack() -> Drawing:
    """Frameworks, runtimes, layers below and machines, one above the other."""
    rows = (
        ("frameworks", ("PyTorch, JAX", "DeepSpeed", "Megatron-LM", "Horovod", "vLLM")),
        ("runtimes", ("MPI", "NCCL", "Gloo", "gRPC")),
        ("below them", ("UCX", "libfabric", "CUDA")),
        ("machines", ("processors", "GPUs", "NVLink", "InfiniBand, Ethernet")),
    )
    sketch = Sketch("; ".join(f"{name}: {', '.join(parts)}" for name, parts in rows))
    for row, (name, parts) in enumerate(rows):
        y, wide = 112 * row, (WIDTH - 190) / len(parts)
        sketch.words(170, y + 48, name, 24, "end", STRONG, True)
        for place, part in enumerate(parts):
            colour = (STRONG, "#117733", "#ddaa33", "#88ccee")[row]
            sketch.box(190 + place * wide, y, wide - 8, 96, part, colour, 21)
    sketch.words(
        575, 472, "the course writes the second row itself, and uses MPI for real ranks", 23
    )
    return sketch.drawing


def carriers() -> Drawing:
    """Of the survey's papers, those which say what carried their messages; a square each."""
    words = " ".join(FIELD.read_text(encoding="utf-8").split())
    papers, said, by_mpi = map(int, CARRIERS.search(words).groups())
    sketch = Sketch(f"Of {papers} papers {said} say what carried their messages, {by_mpi} MPI")
    for paper in range(papers):
        x, y = 30 + 36 * (paper // 12), 36 * (paper % 12)
        colour = STRONG if paper < by_mpi else "#8f83cc" if paper < said else "#e3e3e3"
        sketch.box(x, y, 31, 31, fill=colour)
    for y, colour, text in (
        (40, STRONG, f"{by_mpi} used MPI"),
        (140, "#8f83cc", f"{said - by_mpi} something else"),
        (240, "#cccccc", f"{papers - said} do not say"),
    ):
        sketch.box(830, y, 40, 40, fill=colour)
        sketch.words(885, y + 20, text, 25, "start")
    sketch.words(30, 465, f"{papers} papers, a square each", 24, "start", QUIET)
    return sketch.drawing


def begin() -> Drawing:
    """From a command in a terminal to the first notebook, and the way out of trouble."""
    assert (NOTEBOOKS / f"{FIRST}.py").exists()
    steps = (
        ("terminal", "python3 start.py", "fills .venv:\na few minutes"),
        ("browser", "JupyterLab", "opens by itself"),
        ("notebook", FIRST, "begin here"),
    )
    sketch = Sketch("; then ".join(f"{where}: {what}" for where, what, _ in steps))
    for place, (where, what, words) in enumerate(steps):
        x = 400 * place
        sketch.box(x, 20, 345, 230, fill=("#2b2b2b", PALE, PALE)[place], edge=STRONG)
        sketch.box(x, 20, 345, 48, where, STRONG, 25, bold=True)
        ink = "#ffffff" if place == 0 else INK
        sketch.words(x + 172, 160, what, 28, colour=ink, bold=True)
        sketch.words(x + 172, 300, words, 26)
        if place:
            sketch.arrow((x - 52, 135), (x - 4, 135), WARM, 6)
    sketch.box(0, 385, 345, 84, "trouble?", WARM, 30, bold=True)
    sketch.arrow((350, 427), (420, 427), WARM, 6)
    sketch.box(430, 385, 715, 84, ".venv/bin/ddl-teach doctor", "#2b2b2b", 28, bold=True)
    return sketch.drawing


def three_helpers() -> Drawing:
    """What a learner can ask for, from a first try to the end of a unit."""
    helpers = (
        ("check(...)", "what is wrong,\nand what it\nusually means", STRONG),
        ("hint(...)", "a hint; asked\nagain, nearly\nthe answer", WARM),
        ("progress()", "what is solved,\nand what is\nstill open", "#228833"),
    )
    sketch = Sketch("; ".join(f"{a}: {b}" for a, b, _ in helpers).replace("\n", " "))
    for place, (name, what, colour) in enumerate(helpers):
        x = 395 * place
        sketch.box(x, 20, 355, 90, name, colour, 34, bold=True)
        sketch.box(x, 110, 355, 230, fill="#ffffff", edge=colour)
        sketch.words(x + 178, 225, what, 31)
        if place:
            sketch.arrow((x - 36, 65), (x - 4, 65), INK, 5)
    sketch.words(575, 420, "Assistants may explain. What you hand in is yours.", 31, bold=True)
    return sketch.drawing
