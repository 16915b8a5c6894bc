"""Diagrams of training: who agrees with whom, LARS, rounds, springs, no lock, ensembles, rungs."""

from __future__ import annotations

import re

import numpy as np

from benchmarks.recorded import RESULTS
from ddl_class.plots.svg import Drawing
from ddl_runtime.pictures.style import rank_colour
from ddl_teach.theory.gossip import graphs
from slides.figures.sketch import (
    INK,
    PALE,
    QUIET,
    STRONG,
    WARM,
    Sketch,
    bars,
    between,
    round_a_circle,
)
from slides.figures.training import GRAPHS, searched

MEMBERS = re.compile(
    r"^(members|ensemble|average|matched|student) +([\d.]+)% +([\d.]+) to "
    r"([\d.]+)%",
    re.MULTILINE,
)


def three_paths() -> Drawing:
    """A server, a ring and neighbours, side by side, with what the busiest rank takes in."""
    workers = 8
    ways = (
        ("a server", [(k, 8) for k in range(8)], f"{workers} n"),
        ("a ring", [(k, (k + 1) % 8) for k in range(8)], f"{2 * (workers - 1) / workers:g} n"),
        (
            "neighbours",
            [
                (k, other)
                for k, others in enumerate(graphs.exponential(8).rounds[0])
                for other in others
            ],
            f"{len(graphs.exponential(8).rounds[0][0])} n",
        ),
    )
    sketch = Sketch("; ".join(f"{name}: {into} into the busiest" for name, _, into in ways))
    for number, (name, pairs, into) in enumerate(ways):
        x = 190 + 385 * number
        places = [*round_a_circle(8, x, 185, 140), (x, 185)]
        for begin, end in pairs:
            way = between(places[begin], places[end], 44 if end == 8 else 30)
            sketch.drawing.line(way, stroke=WARM, stroke_width=4)
        for rank in range(8):
            sketch.rank(*places[rank], rank, 30)
        if name == "a server":
            sketch.box(x - 42, 143, 84, 84, "server", INK, 20)
        sketch.words(x, 375, name, 28, colour=STRONG, bold=True)
        sketch.words(x, 430, f"{into} into the busiest rank,\nin a step", 22)
    return sketch.drawing


def stable_steps() -> Drawing:
    """The largest stable steps, as recorded: formula, simulated and real workers, no lock."""
    text = (RESULTS / "staleness.txt").read_text()
    found = re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+)(?: +([\d.]+))?", text, re.MULTILINE)
    rows = []
    for workers, formula, simulated, real in found[:6]:
        name = f"{workers} worker{'s' * (workers != '1')}"
        words = f"simulated {float(simulated):.3f}" + (f", real {float(real):.3f}" if real else "")
        rows.append((name, float(formula), words))
    return bars(
        "The largest stable step",
        rows,
        "largest stable step times curvature; the bar is the formula",
        "",
        left=180,
        right=370,
    )


def rounds() -> Drawing:
    """Three workers that agree after four steps of their own."""
    sketch = Sketch("Three workers take four steps alone, then all take the mean")
    rng = np.random.default_rng(3)
    agreed = 230.0
    for turn in range(3):
        x = 90 + 340 * turn
        ends = []
        for worker in range(3):
            drift = np.cumsum(rng.normal(0, 38, 4) - 8 + 42 * (worker - 1) / 2)
            ys = [agreed, *np.clip(agreed + drift, 40, 430)]
            points = [(x + 70 * k, float(y)) for k, y in enumerate(ys)]
            sketch.drawing.line(points, stroke=rank_colour(worker), stroke_width=5)
            for point in points[1:]:
                sketch.drawing.circle(*point, 8, fill=rank_colour(worker))
            ends.append(ys[-1])
        agreed = float(np.mean(ends))
        for end in ends:
            sketch.drawing.line([(x + 280, end), (x + 340, agreed)], stroke=QUIET, stroke_width=2)
        sketch.drawing.circle(x + 340, agreed, 17, fill=WARM)
    sketch.words(575, 480, "orange: all take the mean; between two, no messages", 24)
    return sketch.drawing


def springs() -> Drawing:
    """Elastic averaging: workers on springs to a centre, by the update of unit 14."""
    sketch = Sketch("Workers are drawn to a centre, and the centre to them")
    places = round_a_circle(6, 330, 240, 175)
    for rank, place in enumerate(places):
        (x, y), (u, v) = between((330, 240), place, 50)
        along = np.linspace(0, 1, 17)
        zigzag = 9 * np.where(np.arange(17) % 2, 1, -1) * (along > 0) * (along < 1)
        length = np.hypot(u - x, v - y)
        points = zip(
            x + along * (u - x) - zigzag * (v - y) / length,
            y + along * (v - y) + zigzag * (u - x) / length,
            strict=True,
        )
        sketch.drawing.line(
            [(float(a), float(b)) for a, b in points], stroke=QUIET, stroke_width=3
        )
        sketch.rank(*place, rank, 42)
    sketch.box(275, 200, 110, 80, "centre", INK, 24)
    for y, text, colour in (
        (120, "each worker: its own step,\nthen a pull to the centre", STRONG),
        (245, "the centre: a pull by each worker", WARM),
        (350, "a weak spring lets workers\nlook for different valleys", INK),
    ):
        sketch.words(600, y, text, 27, "start", colour)
    return sketch.drawing


def no_lock() -> Drawing:
    """Two workers that read and write one vector without a lock, over time."""
    sketch = Sketch("Both read 5, one writes 6, the other 7: the first update is lost")
    events = (
        (0, 150, "reads 5"),
        (1, 300, "reads 5"),
        (0, 520, "writes 5 + 1"),
        (1, 760, "writes 5 + 2"),
    )
    for rank, y in enumerate((80, 400)):
        sketch.rank(50, y, rank, 40)
        sketch.drawing.line([(100, y), (1120, y)], stroke=QUIET, stroke_width=3)
    values = ((100, 520, "5"), (520, 760, "6"), (760, 1120, "7"))
    for begin, end, value in values:
        sketch.box(
            begin,
            205,
            end - begin - 6,
            72,
            f"x = {value}",
            PALE if value == "5" else "#ddaa33",
            28,
        )
    for rank, x, text in events:
        y, write = (80, 400)[rank], text.startswith("writes")
        inside = 202 if rank == 0 else 280
        way = ((x, y), (x, inside)) if write else ((x, inside), (x, y))
        sketch.arrow(*way, rank_colour(rank), 6)
        sketch.words(x + 20, y + (40 if rank == 0 else -40), text, 24, "start")
    sketch.words(900, 462, "one of two updates is lost", 26, colour=WARM, bold=True)
    return sketch.drawing


def members() -> Drawing:
    """Ensembles, averages and a distilled student on the digits, as recorded."""
    text = (RESULTS / "consolidation.txt").read_text()
    block = text.partition("5 members 8 wide, student 8 wide")[2].partition("\n\n")[0]
    names = {
        "members": "one member",
        "ensemble": "ensemble of five",
        "average": "averaged weights",
        "matched": "matched, then averaged",
        "student": "distilled student",
    }
    rows, ends = [], []
    for name, median, low, high in MEMBERS.findall(block):
        if name in names:
            rows.append((names[name], float(median), f"{float(median):.1f}%"))
            ends.append((float(low), float(high)))
    return bars(
        "Five small networks on the digits",
        rows,
        "% right of held-out digits, medians of 20 seeds, lines are 95% intervals",
        "ensemble of five",
        ends,
    )


def graphs_of_eight() -> Drawing:
    """Four graphs of eight ranks; where they differ from step to step, a colour each."""
    graphs = [make(8) for make in GRAPHS]
    most = [max(len(to) for links in graph.rounds for to in links) for graph in graphs]
    names = [graph.name for graph in graphs]
    sketch = Sketch("Messages a rank sends in a step: " + ", ".join(
        f"{count} ({name})" for name, count in zip(names, most, strict=True)
    ))  # fmt: skip
    for number, graph in enumerate(graphs):
        x = 140 + 290 * number
        places = round_a_circle(8, x, 170, 116)
        for step, links in enumerate(graph.rounds):
            colour = (WARM, "#4477aa", "#228833")[step] if len(graph.rounds) > 1 else "#666666"
            for rank, to in ((rank, to) for rank, targets in enumerate(links) for to in targets):
                ends = between(places[rank], places[to], 24)
                if rank in links[to]:
                    sketch.drawing.line(ends, stroke=colour, stroke_width=3)
                else:
                    sketch.arrow(*ends, colour, 2)
        for rank, place in enumerate(places):
            sketch.rank(*place, rank, 22)
        sketch.words(x, 360, graph.name.replace("-peer ", "-peer\n"), 26, bold=True, colour=STRONG)
        sketch.words(x, 435, f"{most[number]} a step", 26)
    sketch.words(1010, 480, "a colour is a step", 22, colour=QUIET)
    return sketch.drawing


def jobs(waits: bool) -> Drawing:
    """What eight workers do in a search, over time: which jobs go on, and where workers wait while
    there are jobs to come."""
    records = searched(waits)
    ends, last = max(job.end for job in records), max(job.start for job in records)
    workers = sorted({job.worker for job in records})
    busy = sum(min(job.end, last) - job.start for job in records)
    idle = 1 - busy / (last * len(workers))
    sketch = Sketch(
        f"{len(records)} jobs on {len(workers)} workers in {ends:.1f} s; until all have begun "
        f"{idle:.0%} of the time is waiting"
    )
    scale = 1000 / 12.5
    for row, worker in enumerate(workers):
        y = 48 * row
        sketch.words(100, y + 20, f"worker {worker}", 22, "end")
        sketch.box(115, y, scale * last, 42, fill="#f6d5cf")
        for job in (job for job in records if job.worker == worker):
            wide = scale * (job.end - job.start)
            name = str(job.trial) if wide > 34 else ""
            x = 115 + scale * job.start
            fill = {"promoted": "#4477aa", "best": WARM}.get(job.decision, "#b5b5b5")
            sketch.box(x, y, wide, 42, name, fill, 20, "#ffffff")
    sketch.arrow((115, 398), (1140, 398), QUIET, 3)
    sketch.words(1140, 424, f"time; the last job ends after {ends:.1f} s", 22, "end", QUIET)
    legend = {"stopped": "#b5b5b5", "goes on": "#4477aa", "best": WARM, "waits": "#f6d5cf"}
    for place, (name, fill) in enumerate(legend.items()):
        sketch.box(115 + 180 * place, 456, 34, 34, fill=fill)
        sketch.words(159 + 180 * place, 473, name, 24, "start")
    words = f"until all jobs have begun: {idle:.0%} waiting"
    sketch.words(115, 424, words, 22, "start", bold=True)
    return sketch.drawing


def rungs() -> Drawing:
    """Successive halving of nine: a third goes on, three times as long."""
    sketch = Sketch("Nine trials, then three for three times as long, then one for nine times")
    for rung, kept in enumerate((9, 3, 1)):
        wide = 38 * 3**rung
        x = (100, 340, 690)[rung]
        for trial in range(kept):
            high = 420 / 9
            y = 20 + trial * high
            sketch.box(
                x, y, wide, high - 6, str(trial), WARM if trial < kept / 3 else "#bbbbbb", 20
            )
        sketch.words(x + wide / 2, 470, f"{kept} x {3**rung} = {kept * 3**rung} steps", 22)
    sketch.words(760, 300, "orange goes on: the best third", 25, colour=WARM, bold=True)
    return sketch.drawing


def layers_of_lars() -> Drawing:
    """Steps of three layers by plain descent and by LARS, as parts of their length."""
    rate, sizes = 0.01, {"first": (10.0, 0.1), "middle": (10.0, 2.0), "last": (1.0, 5.0)}
    rows = []
    for name, (weight, gradient) in sizes.items():
        rows.append(
            (f"{name} layer, descent", rate * gradient / weight, f"{rate * gradient / weight:.2%}")
        )
        rows.append((f"{name} layer, LARS", rate, f"{rate:.0%}"))
    return bars(
        "A step as a part of a layer's length",
        rows,
        "|step| / |w| at a rate of 0.01; |w| and |g| of three layers are assumed",
        "",
    )
