"""Diagrams of one network on many ranks: samples, shards, grids, experts, tables as bars."""

from __future__ import annotations

from itertools import product

from benchmarks.recorded import sides
from ddl_class.plots.svg import Drawing
from ddl_runtime.pictures.style import rank_colour
from ddl_teach.networks.pipelines.one_f_one_b import order
from ddl_teach.theory import memory
from slides.figures.sketch import INK, PALE, QUIET, STRONG, WARM, WIDTH, Sketch, bars, tint

KINDS = (("weights", "#4477aa"), ("gradients", "#ccbb44"), ("states", "#ee6677"))


def samples() -> Drawing:
    """A batch cut over four ranks with the same weights, and one average."""
    sketch = Sketch(
        "Four ranks: the same weights, another part of the batch each; gradients are averaged"
    )
    for rank in range(4):
        x = 20 + 285 * rank
        sketch.box(x, 60, 255, 300, fill="#f7f6fb", edge="#999999")
        sketch.rank(x + 127, 48, rank, 36)
        for k in range(8):
            sketch.box(x + 16 + 28 * k, 100, 25, 60, fill=rank_colour(rank))
        sketch.words(x + 127, 180, f"samples {8 * rank} to {8 * rank + 7}", 20)
        sketch.box(x + 16, 205, 223, 56, "the same weights", "#dddddd", 21)
        sketch.box(x + 16, 280, 223, 56, f"gradient {rank}", rank_colour(rank), 22)
        sketch.arrow((x + 127, 345), (x + 127, 402), QUIET, 4)
    sketch.box(
        20,
        408,
        1110,
        62,
        "one all-reduce: the mean of four gradients, on all ranks",
        "#ddaa33",
        26,
    )
    return sketch.drawing


def cuts() -> Drawing:
    """Two layers on four ranks: the first cut by columns, the second by rows."""
    ranks, unit = 4, 31
    matrices = (("x", 4, 5, ""), ("A", 5, 8, "columns"), ("relu(x A)", 4, 8, "columns"),
                ("B", 8, 5, "rows"), ("y", 4, 5, "sum"))  # fmt: skip
    sketch = Sketch("x on all ranks; A and relu(x A) by columns; B by rows; y as four summands")
    left = 0
    for name, high, wide, cut in matrices:
        top, tall, broad = 200 - unit * high / 2, unit * high, unit * wide
        for part in range(ranks if cut else 1):
            fill = rank_colour(part) if cut else "#cccccc"
            if cut == "columns":
                sketch.box(left + part * broad / ranks, top, broad / ranks - 3, tall, fill=fill)
            elif cut == "rows":
                sketch.box(left, top + part * tall / ranks, broad, tall / ranks - 3, fill=fill)
            else:
                aside = 15 * part
                sketch.box(left + aside, top + aside, broad - 30, tall - 30, "", fill, edge="#fff")
        sketch.words(left + broad / 2, 40, name, 30, bold=True)
        left += broad + 40
    for at, text in ((345, "columns first"), (905, "then rows")):
        sketch.words(at, 372, text, 27, bold=True, colour=STRONG)
    sketch.words(575, 425, "a colour is a rank; grey is on every rank; sheets of y are added", 25)
    sketch.words(575, 475, "no message before y, then one all-reduce", 25, colour="#8a3a00")
    return sketch.drawing


def ladder() -> Drawing:
    """The rungs of data parallelism beside torch's DDP, as recorded."""
    rows = dict(next(iter(sides("data_parallel.txt"))).rows)
    rows["DDP, gradients as views"] = rows.pop("the same, gradients as views")
    shown = [(name, row.median, f"{row.median:.1f} ms") for name, row in rows.items()]
    ends = [(row.low, row.high) for row in rows.values()]
    return bars(
        "A step of training on two ranks",
        shown,
        "milliseconds of a step: medians, lines are 95% intervals",
        "torch's DDP",
        ends,
    )


def instructions() -> Drawing:
    """What the generator yields for each of four stages and six micro-batches."""
    sketch = Sketch("1F1B: each stage's list of instructions, as the generator yields them")
    for stage in range(4):
        y = 20 + 105 * stage
        sketch.rank(45, y + 38, stage, 32)
        for place, instruction in enumerate(order(stage, 4, 6)):
            back = type(instruction).__name__ == "Backward"
            letter = "B" if back else "F"
            sketch.box(
                95 + 87 * place,
                y,
                82,
                76,
                f"{letter}{instruction.micro_batch}",
                rank_colour(stage) if back else PALE,
                26,
            )
    sketch.words(
        95,
        460,
        "F: forward, B: backward, of a micro-batch; in order, without their times",
        22,
        "start",
        QUIET,
    )
    return sketch.drawing


def shards() -> Drawing:
    """What each of four ranks holds in the stages of ZeRO, to scale: Adam in half precision."""
    ranks = 4
    sketch = Sketch("What a rank holds of 16 bytes a weight in stages 0 to 3, on four ranks")
    for stage in range(4):
        left = 20 + 285 * stage
        for rank in range(ranks):
            held = memory.held(stage, [1_000], ranks, rank, weight=2, state=12)
            x, y = left + 64 * rank, 40.0
            sketch.rank(x + 28, 18, rank, 18)
            for (name, colour), whole in zip(KINDS, (2, 2, 12), strict=True):
                high, part = 22 * whole, getattr(held, name) / 1_000 / whole
                sketch.box(x, y, 56, high, fill="none", edge="#cccccc")
                first = y + (high * rank / ranks if part < 1 else 0)
                sketch.box(x, first, 56, high * part, fill=colour)
                y += high + 6
        total = memory.held(stage, [1_000], ranks, 0, weight=2, state=12).total / 1_000
        sketch.words(
            left + 125, 432, f"stage {stage}: {total:g} bytes", 24, bold=True, colour=STRONG
        )
    for place, (name, colour) in enumerate(KINDS):
        sketch.box(300 + 190 * place, 468, 24, 24, fill=colour)
        sketch.words(332 + 190 * place, 480, name, 21, "start")
    return sketch.drawing


def sharded_traffic() -> Drawing:
    """What a rank sends in a step on 64 ranks, stage by stage."""
    share = 63 / 64
    rows = [
        ("data parallel: all-reduce", 2 * share, f"{2 * share:.2f} n"),
        ("stages 1, 2: reduce-scatter, all-gather", 2 * share, f"{2 * share:.2f} n"),
        ("stage 3, FSDP: gathered twice", 3 * share, f"{3 * share:.2f} n"),
    ]
    return bars(
        "What a rank of 64 sends in a step",
        rows,
        "times the bytes n of the weights, by formula",
        "",
        left=460,
    )


def grid() -> Drawing:
    """Sixteen ranks by three coordinates: colour is a pipeline's stage, shade a layer's part."""
    sketch = Sketch("Sixteen ranks: data 4, pipeline 2, tensor 2, by colour")
    for rank, (data, stage, part) in enumerate(product(range(4), range(2), range(2))):
        x, y = 150 + 250 * data, 60 + 200 * stage + 92 * part
        base = rank_colour(1 + 2 * stage)
        sketch.box(x, y, 225, 84, f"rank {rank}", base if part == 0 else tint(base, 0.5), 24)
    for data in range(4):
        sketch.words(262 + 250 * data, 30, f"data {data}", 23, bold=True)
    for stage in range(2):
        sketch.words(135, 148 + 200 * stage, f"stage {stage}", 23, "end", bold=True)
    sketch.words(
        640, 474, "down: a layer's parts; between stages: activations; across: gradients' mean", 22
    )
    return sketch.drawing


def experts() -> Drawing:
    """Tokens of two ranks go to the rank of their expert, and come back: two all-to-alls."""
    choices = ((0, 3, 1, 0), (2, 0, 3, 1))  # the expert of each token, drawn for the picture
    sketch = Sketch("Eight tokens on two ranks go to four experts on two ranks, and come back")
    for rank, chosen in enumerate(choices):
        for place, expert in enumerate(chosen):
            y = 30 + 220 * rank + 50 * place
            sketch.box(130, y, 150, 42, f"token {4 * rank + place}", rank_colour(rank), 21)
            there = 52 + 112 * expert
            sketch.arrow((285, y + 21), (525, there), rank_colour(rank), 3)
            sketch.arrow((720, there), (955, y + 21), rank_colour(rank), 3)
            sketch.box(960, y, 150, 42, f"token {4 * rank + place}", rank_colour(rank), 21)
        sketch.rank(70, 130 + 220 * rank, rank, 38)
    for expert in range(4):
        load = sum(chosen.count(expert) for chosen in choices)
        sketch.box(
            530,
            10 + 112 * expert,
            190,
            84,
            f"expert {expert}\ntokens: {load}",
            rank_colour(expert // 2),
            23,
        )
    for x, text in ((405, "all-to-all"), (840, "all-to-all")):
        sketch.words(x, 480, text, 24, colour=STRONG, bold=True)
    sketch.words(WIDTH / 2 + 50, 480, "a product each", 22, colour=INK)
    sketch.drawing.line([(300, 455), (940, 455)], stroke=WARM, stroke_width=2)
    return sketch.drawing
