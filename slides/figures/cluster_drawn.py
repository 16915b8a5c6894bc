"""Diagrams of many nodes: what is new there, worlds of one rank, faults, tables as bars."""

from __future__ import annotations

import re

from ddl_class.doctor.finding import ROOT
from ddl_class.plots.svg import Drawing
from ddl_runtime.pictures.style import algorithm_colour
from ddl_runtime.pictures.words import size_text, spoken
from ddl_teach.collectives import recursive_doubling, ring
from ddl_teach.planning.presets import ACCELERATORS
from slides.figures import cluster, many_nodes
from slides.figures.sketch import INK, PALE, QUIET, STRONG, WARM, Sketch, bars, tint

GOLD = "#ddaa33"


def one_or_many() -> Drawing:
    """What one machine shares, and what many nodes have each of their own."""
    sketch = Sketch("One machine shares clock, disk and process table; nodes have one each")
    parts = ("processes", "clock", "/tmp", "memory")
    sketch.box(20, 60, 330, 360, fill=PALE, edge=STRONG)
    sketch.words(185, 30, "one machine", 26, bold=True)
    for k, part in enumerate(parts):
        sketch.box(50, 90 + 80 * k, 270, 62, f"one: {part}", STRONG, 23)
    sketch.words(770, 30, "many nodes: one each, and cables between", 26, bold=True)
    for node in range(3):
        x = 440 + 240 * node
        sketch.drawing.line([(x + 100, 330), (775, 440)], stroke=WARM, stroke_width=5)
        sketch.box(x, 60, 205, 280, fill=PALE, edge=STRONG)
        for k, part in enumerate(parts):
            sketch.box(
                x + 15, 78 + 64 * k, 175, 52, part, ("#4477aa", "#228833", "#aa3377")[node], 21
            )
    sketch.box(700, 425, 150, 56, "switch", "#ddaa33", 24)
    return sketch.drawing


def box() -> Drawing:
    """What a box of four nodes is: namespaces and virtual cables in one Linux."""
    sketch = Sketch("Four nodes with names, addresses, cards and cables, in one Linux")
    sketch.box(0, 0, 1150, 500, fill="#f7f6fb", edge=QUIET)
    sketch.words(24, 32, "your Linux, an ordinary user", 23, "start", QUIET)
    sketch.box(425, 70, 300, 64, "switch", "#ddaa33", 26)
    for node in range(4):
        x = 40 + 280 * node
        cut = node == 1
        sketch.drawing.line(
            [(575, 134), (x + 115, 250)],
            stroke="#cc3311" if cut else STRONG,
            stroke_width=6,
            stroke_dasharray="14 12" if cut else "none",
        )
        sketch.box(x, 250, 230, 210, fill="#ffffff", edge=STRONG)
        sketch.words(x + 115, 285, f"node{node}", 27, bold=True, colour=STRONG)
        sketch.words(x + 115, 375, "card eth0\n/tmp\nprocesses", 23)
    sketch.words(330, 165, "fault node1 cut", 22, "end", "#cc3311", True)
    return sketch.drawing


def over_the_model() -> Drawing:
    """How much longer than predicted, without a delay and with a millisecond on each cable."""
    rows, ends, colours = [], [], []
    for file, label in (("box.txt", "no delay"), ("box_delayed.txt", "1 ms a cable")):
        network, timed = cluster.recorded(file)
        for name, row in timed.items():
            ratio = row.seconds / cluster.predicted(network, name)
            rows.append((f"{spoken(name)}, {label}", ratio, f"{ratio:.2f}"))
            ends.append((row.low, row.high))
            colours.append(algorithm_colour(name))
    return bars(
        "Measured over predicted",
        rows,
        "measured over predicted, lines are 95% intervals",
        "",
        ends,
        left=430,
        colours=colours,
    )


def cards() -> Drawing:
    """What the ledger of a rank and the card of its node have counted."""
    rows, colours = [], []
    for name, row in cluster.recorded("box.txt")[1].items():
        colours += [algorithm_colour(name), tint(algorithm_colour(name), 0.6)]
        rows.append((f"{spoken(name)}, ledger", row.ledger / 1e6, f"{row.ledger:,} B"))
        more = row.card / row.ledger - 1
        rows.append((f"{spoken(name)}, card", row.card / 1e6, f"{row.card:,} B, {more:.1%} more"))
    return bars(
        "Bytes by the ledger and by the card",
        rows,
        "bytes, counted; paler: by the card of the node",
        left=370,
        right=360,
        colours=colours,
    )


def ring_begins() -> Drawing:
    """From which size on a ring beats doubling on 64 ranks, network by network."""
    rows = [
        (name, nbytes / 1024, size_text(nbytes)) for name, nbytes in cluster.ring_sizes().items()
    ]
    return bars(
        "From which size on the ring wins",
        rows,
        "KiB of the vector, 64 ranks, by formula",
        "the box",
        left=330,
    )


def one_cable() -> Drawing:
    """A ring of ranks in the order of their nodes, and what each node's cable carries."""
    carried = many_nodes.sent(ring, many_nodes.IN_ORDER)
    ranks, each = len(many_nodes.IN_ORDER), many_nodes.EACH
    node_of = many_nodes.IN_ORDER
    hops = [a != b for a, b in zip(node_of, [*node_of[1:], node_of[0]], strict=True)]
    sketch = Sketch(
        f"{sum(hops)} of {ranks} hops of a ring need a cable: "
        + ", ".join(f"node {node} sends {size_text(n)}" for node, n in enumerate(carried))
    )
    sketch.box(425, 0, 300, 70, "switch", GOLD, 28)
    for node, nbytes in enumerate(carried):
        x = 10 + 290 * node
        ends = [(575, 70), (x + 130, 230)]
        sketch.drawing.line(ends, stroke=GOLD, stroke_width=5 * nbytes / 2**20)
        sketch.box(x, 230, 260, 150, fill=PALE, edge=STRONG)
        sketch.words(x + 130, 470, f"node {node}: {size_text(nbytes)}", 25, bold=True)
    for rank, far in enumerate(hops):
        x = 75 + 290 * (rank // each) + 130 * (rank % each)
        if not far:
            sketch.arrow((x + 42, 305), (x + 88, 305), "#117733", 7)
        elif rank < ranks - 1:
            sketch.arrow((x + 42, 305), (x + 118, 305), WARM, 7)
        sketch.rank(x, 305, rank, 40)
    last = 75 + 290 * (many_nodes.NODES - 1) + 130
    sketch.drawing.line([(last, 345), (last, 425), (75, 425)], stroke=WARM, stroke_width=7)
    sketch.arrow((75, 428), (75, 350), WARM, 7)
    return sketch.drawing


def cables() -> Drawing:
    """What the busiest cable carries, by algorithm and order of ranks."""
    ways = {
        "ring, in order of nodes": (ring, many_nodes.IN_ORDER),
        "ring, dealt out like cards": (ring, many_nodes.DEALT),
        "recursive doubling, in order": (recursive_doubling, many_nodes.IN_ORDER),
    }
    rows = []
    for name, (algorithm, node_of) in ways.items():
        most = max(many_nodes.sent(algorithm, node_of))
        rows.append((name, most / 1e6, f"{most:,} B, {most / many_nodes.NBYTES:.3g} n"))
    return bars(
        "The busiest cable of 8 ranks on 4 nodes",
        rows,
        "bytes one way, of a vector of n = 2 MiB, counted",
        left=380,
        colours=[algorithm_colour(name) for name in ("ring", "ring", "recursive_doubling")],
    )


def worlds() -> Drawing:
    """Four ranks of one world beside four worlds of one rank."""
    sketch = Sketch("One world of ranks 0 to 3; or four worlds, each of a rank 0 alone")
    for side, title in enumerate(("one world of 4", "four worlds of 1")):
        left = 30 + 580 * side
        sketch.words(left + 260, 30, title, 28, bold=True, colour=STRONG if side == 0 else WARM)
        if side == 0:
            sketch.box(left, 70, 520, 300, fill=PALE, edge=STRONG)
        for rank in range(4):
            x, y = left + 140 + 240 * (rank % 2), 150 + 140 * (rank // 2)
            if side:
                sketch.box(x - 105, y - 62, 210, 124, fill="#fdf1e4", edge=WARM)
            sketch.rank(x, y, rank if side == 0 else 0, 44)
        text = ("comm.size == 4", "comm.size == 1, four times;\nand yet the loss goes down")[side]
        sketch.words(left + 260, 420, text, 24)
    return sketch.drawing


def silence() -> Drawing:
    """What peers see of four faults, over time: news at once, or none."""
    rows = (
        ("process dies", "connections close", 130),
        ("cable is cut", "nothing; TCP repeats more and more seldom", 860),
        ("node is slow", "all ranks have its speed", 860),
        ("message is lost", "sent again, a little later", 330),
    )
    sketch = Sketch("; ".join(f"{name}: {what}" for name, what, _ in rows))
    for number, (name, what, wide) in enumerate(rows):
        y = 20 + 105 * number
        sketch.words(222, y + 38, name, 22, "end", bold=True)
        sketch.box(235, y, wide, 76, fill="#d9d9d9" if wide > 200 else "#228833")
        inside = wide > 400
        sketch.words(255 if inside else 250 + wide, y + 38, what, 24, "start", INK)
    sketch.arrow((235, 450), (1120, 450), QUIET, 3)
    sketch.words(235, 480, "time without news, not to scale", 21, "start", QUIET)
    return sketch.drawing


def labs() -> Drawing:
    """The labs with the minutes that their worksheets give."""
    rows = []
    sheets = (ROOT / "labs").glob("[0-9]*/worksheet.md")
    for worksheet in sorted(sheets, key=lambda sheet: int(sheet.parent.name.split("_")[0])):
        text = worksheet.read_text()
        minutes = re.search(r"^\*\*Time\.?\*\*\D*(\d+)", text, re.MULTILINE)[1]
        rows.append((text.splitlines()[0].removeprefix("# "), float(minutes), minutes))
    return bars(
        "Minutes of the labs", rows, "minutes, as the worksheets say", "", left=680, right=100
    )


def links() -> Drawing:
    """What a GPU reads and sends in a second, by where the bytes come from."""
    each = ACCELERATORS["H100"] if "H100" in ACCELERATORS else next(iter(ACCELERATORS.values()))
    card = each.node_rate / each.ranks_a_node
    rows = [
        ("its own memory", each.memory_rate / 1e9, f"{each.memory_rate / 1e9:,.0f} GB/s"),
        ("NVLink, in a node", each.inside_rate / 1e9, f"{each.inside_rate / 1e9:,.0f} GB/s"),
        ("its card, to others", card / 1e9, f"{card / 1e9:,.0f} GB/s"),
    ]
    return bars(
        f"Three distances of an {each.name}",
        rows,
        f"GB/s of an {each.name}, by its data sheet",
        "NVLink, in a node",
    )
