"""The picture of each title page, drawn from what its part is about."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ddl_class.plots.svg import Drawing
from ddl_runtime.pictures.style import rank_colour
from ddl_teach.networks.pipelines.one_f_one_b import order
from ddl_teach.theory.gossip import graphs
from slides.figures.sketch import INK, PALE, QUIET, STRONG, WARM, Sketch, between, round_a_circle

SIDE = 620, 640  # pixels of a title page's picture


def ranks() -> Drawing:
    """Sixty-four ranks, each of which sends to the next: the whole course in one picture."""
    sketch = Sketch("Sixty-four ranks in a square; each sends to the next one", *SIDE)
    places = [
        (90 + 63 * (k if row % 2 == 0 else 7 - k), 100 + 63 * row)
        for row in range(8)
        for k in range(8)
    ]
    for begin, end in pairwise(places):
        sketch.arrow(*between(begin, end, 20), thick=2, colour=QUIET)
    for rank, place in enumerate(places):
        sketch.rank(*place, rank % 9, 20, str(rank))
    return sketch.drawing


def tree() -> Drawing:
    """A sum of sixteen numbers, two by two."""
    sketch = Sketch("Sixteen numbers are added two by two, in four levels", *SIDE)
    rows = [
        [60 + 500 * (k + 0.5) / (16 >> level) for k in range(16 >> level)] for level in range(5)
    ]
    for level, xs in enumerate(rows):
        y = 560 - 120 * level
        for k, x in enumerate(xs):
            if level < 4:
                sketch.drawing.line(
                    [(x, y), (rows[level + 1][k // 2], y - 120)], stroke=QUIET, stroke_width=3
                )
            colour = WARM if k == 0 else STRONG
            sketch.drawing.circle(x, y, 11 + 6 * level, fill=colour)
    return sketch.drawing


def butterfly() -> Drawing:
    """Recursive doubling on eight ranks: partners are XORs."""
    sketch = Sketch("Eight ranks change with partners one, two and four places away", *SIDE)
    for step in range(4):
        for rank in range(8):
            here = (95 + 62 * rank, 90 + 152 * step)
            if step < 3:
                for to in (rank, rank ^ 2**step):
                    there = (95 + 62 * to, 90 + 152 * (step + 1))
                    colour = QUIET if to == rank else rank_colour(rank)
                    sketch.arrow(*between(here, there, 25), colour, 3)
    for step in range(4):
        for rank in range(8):
            sketch.rank(95 + 62 * rank, 90 + 152 * step, rank, 23)
    return sketch.drawing


def pipeline() -> Drawing:
    """1F1B of six stages, in the order in which each works."""
    sketch = Sketch("Six stages of a pipeline alternate forward and backward passes", *SIDE)
    for stage in range(6):
        for place, instruction in enumerate(order(stage, 6, 7)):
            back = type(instruction).__name__ == "Backward"
            sketch.box(
                50 + 37.5 * place,
                80 + 85 * stage,
                34,
                62,
                str(instruction.micro_batch),
                rank_colour(stage) if back else PALE,
                17,
            )
    return sketch.drawing


def gossip() -> Drawing:
    """An exponential graph of sixteen ranks."""
    sketch = Sketch("Sixteen ranks on a circle, joined to ranks 1, 2, 4 and 8 places on", *SIDE)
    places = round_a_circle(16, 310, 320, 240)
    [matrix] = graphs.exponential(16).rounds
    for rank, partners in enumerate(matrix):
        for other in partners:
            sketch.drawing.line(
                between(places[rank], places[other], 26), stroke=rank_colour(rank), stroke_width=2
            )
    for rank, place in enumerate(places):
        sketch.rank(*place, rank % 9, 26, str(rank))
    return sketch.drawing


def axes() -> Drawing:
    """The same two numbers on an axis that begins at 95 and on one that begins at 0."""
    sketch = Sketch("The same two bars, once above 95 and once above 0", *SIDE)
    for side, begin in enumerate((95, 0)):
        for k, value in enumerate((96, 99)):
            high = 400 * (value - begin) / (100 - begin)
            sketch.box(
                70 + 280 * side + 105 * k,
                520 - high,
                85,
                high,
                str(value),
                ("#4477aa", WARM)[k],
                24,
            )
        sketch.words(165 + 280 * side, 560, f"from {begin}", 26)
    sketch.words(310, 60, "the same two numbers", 28, bold=True)
    return sketch.drawing


def nodes() -> Drawing:
    """Nodes of eight ranks below two levels of switches."""
    sketch = Sketch("Four nodes of eight ranks below leaf and spine switches", *SIDE)
    for leaf in range(2):
        for spine in range(2):
            sketch.drawing.line(
                [(170 + 280 * leaf, 250), (170 + 280 * spine, 130)], stroke=INK, stroke_width=5
            )
        sketch.box(110 + 280 * leaf, 220, 120, 56, "leaf", "#ddaa33")
        for k in range(2):
            x = 36 + 280 * leaf + 140 * k
            sketch.drawing.line(
                [(x + 60, 350), (170 + 280 * leaf, 276)], stroke=INK, stroke_width=4
            )
            sketch.box(x, 350, 126, 226, fill=PALE, edge=STRONG)
            for rank in range(8):
                sketch.rank(x + 35 + 56 * (rank % 2), 382 + 54 * (rank // 2), rank, 22)
    for spine in range(2):
        sketch.box(110 + 280 * spine, 90, 120, 56, "spine", "#ddaa33")
    return sketch.drawing


def causal() -> Drawing:
    """Tiles of attention under a causal mask, by the ranks of a zigzag on four."""
    sketch = Sketch(
        "Tiles of a causal mask; each of four ranks has an early and a late part", *SIDE
    )
    owner = [*range(4), *reversed(range(4))]
    for query in range(8):
        for key in range(8):
            seen = key <= query
            sketch.box(
                50 + 66 * key,
                50 + 66 * query,
                62,
                62,
                fill=rank_colour(owner[query]) if seen else "#f0f0f0",
            )
    sketch.words(314, 600, "queries down, keys to the right", 22)
    return sketch.drawing


def shade(share: float) -> tuple[float, float, float]:
    """A colour between white and indigo."""
    white, full = np.ones(3), np.array([0.20, 0.13, 0.53])
    red, green, blue = white + share * (full - white)
    return float(red), float(green), float(blue)
