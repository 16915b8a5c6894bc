"""Diagrams of part 7: a softmax in two parts, an exchange, rings on a torus, even experts."""

from __future__ import annotations

import re

import numpy as np
import torch
from matplotlib.figure import Figure

from benchmarks.recorded import RESULTS
from ddl_class.plots.frame import plane
from ddl_class.plots.svg import Drawing
from ddl_runtime.pictures.style import rank_colour
from ddl_teach import Comm, simulate
from ddl_teach.collectives.fewest_steps import fewest_steps
from ddl_teach.networks.context.ring_attention import travelling
from ddl_teach.plain.balanced_experts import next_bias
from slides.figures.sketch import INK, PALE, QUIET, STRONG, WARM, Sketch, between, tint

SCORES = np.array([0.2, 1.4, -0.5, 0.9, 2.0, 0.1, 1.1, -0.8])  # of one query and eight keys
RANKS, SIDE = 4, 4  # of a ring; of a torus
EXPERTS, TOKENS, SPEED, ROUNDS = 16, 4096, 0.003, 200  # as in unit 23, with fewer experts
CABLES = {(0, 1): 1, (1, 0): 1, (1, 2): 1, (2, 1): 1, (2, 3): 1, (3, 2): 1, (0, 2): 1, (2, 0): 1}
WIDTHS = re.compile(r"^(with|without) muP\s+width (\d+)\s+best 2\^(-?\d+)", re.MULTILINE)
BLUE = "#4477aa"


def softmax() -> Drawing:
    """Eight scores in two parts: each has a maximum and a sum, and both become one."""
    parts = [(part.max(), np.exp(part - part.max()).sum()) for part in np.split(SCORES, 2)]
    (m1, s1), (m2, s2) = parts
    m = max(m1, m2)
    s = s1 * np.exp(m1 - m) + s2 * np.exp(m2 - m)
    assert np.isclose(s, np.exp(SCORES - SCORES.max()).sum())
    sketch = Sketch(
        f"Parts with maximum {m1:g}, sum {s1:.3f} and {m2:g}, {s2:.3f} become {m:g}, {s:.3f}"
    )
    for side, (top, total) in enumerate(parts):
        left = 620 * side
        for place, score in enumerate(SCORES[4 * side : 4 * side + 4]):
            high = 130 * float(np.exp(score - top))
            sketch.box(left + 20 + 118 * place, 180 - high, 96, high, fill=(BLUE, WARM)[side])
            sketch.words(left + 68 + 118 * place, 202, f"{score:g}", 22)
        sketch.box(left + 10, 228, 480, 64, f"m = {top:g}   s = {total:.3f}", PALE, 27, STRONG)
        shrunk = total * np.exp(top - m)
        words = f"{total:.3f} x {np.exp(top - m):.3f} = {shrunk:.3f}"
        sketch.arrow((left + 250, 292), (490 + 160 * side, 390), (BLUE, WARM)[side], 5)
        sketch.words(left + (120 if side == 0 else 380), 345, words, 24, colour=INK)
    sketch.box(330, 394, 480, 64, f"m = {m:g}   s = {s:.3f}", STRONG, 29, bold=True)
    sketch.words(570, 484, "the same as all eight at once", 22, colour=QUIET)
    return sketch.drawing


def to_heads() -> Drawing:
    """Who holds what: some positions of all heads, then all positions of some heads."""
    sketch = Sketch(
        f"{RANKS} ranks, 8 positions, 8 heads: a rank holds rows of the table, and columns after "
        "an all-to-all"
    )
    for side, title in enumerate(("some positions, all heads", "all positions, some heads")):
        left = 70 + 640 * side
        sketch.words(left + 200, 18, title, 25, bold=True, colour=STRONG)
        for position in range(8):
            for head in range(8):
                rank = (head if side else position) // 2
                sketch.box(left + 50 * head, 50 + 50 * position, 46, 46, fill=rank_colour(rank))
        sketch.words(left + 200, 474, "down: positions, across: heads", 22, colour=QUIET)
        for rank in range(RANKS):
            x, y = (left + 48 + 100 * rank, 98) if side else (left + 48, 98 + 100 * rank)
            sketch.drawing.circle(x, y, 33, fill="#ffffff")
            sketch.rank(x, y, rank, 28)
    sketch.arrow((490, 190), (690, 190), WARM, 7, "all-to-all", 25)
    sketch.arrow((690, 320), (490, 320), WARM, 7, "and back", 25)
    sketch.words(590, 250, "attention\nat the right", 22)
    return sketch.drawing


def whose_block(comm: Comm) -> list[int]:
    """The owners of the blocks that a rank has, step by step."""
    positions = list(torch.arange(2 * comm.size).split(2))
    own = torch.zeros(2, 1, 1, 2, 1)
    return [owner for owner, _ in travelling(comm, own, positions)]


def blocks() -> Drawing:
    """Whose keys and values each rank has in each step of a ring, as simulated ranks say."""
    owners = simulate(whose_block, RANKS).results
    sketch = Sketch("Keys of the ranks, step by step: " + "; ".join(
        f"rank {rank} has those of {', '.join(map(str, row))}" for rank, row in enumerate(owners)
    ))  # fmt: skip
    for step in range(RANKS):
        sketch.words(300 + 230 * step, 20, f"step {step}", 25, bold=True)
    for rank, row in enumerate(owners):
        y = 60 + 102 * rank
        sketch.rank(80, y + 38, rank, 40)
        sketch.words(130, y + 38, "queries\nstay", 18, "start", QUIET)
        for step, owner in enumerate(row):
            x = 212 + 230 * step
            sketch.box(x, y, 176, 76, f"keys of {owner}", rank_colour(owner), 25, bold=True)
            if step:
                above = y - 64 if rank else 60 + 102 * (RANKS - 1) + 38
                sketch.arrow((x - 52, above), (x - 4, y + 38), QUIET, 3)
    sketch.words(
        575, 484, "a block goes to the next rank while its copy is used", 22, colour=QUIET
    )
    return sketch.drawing


def best_rates() -> Figure:
    """The best rate of four widths, with and without muP, as recorded."""
    lines: dict[str, tuple[list[int], list[float]]] = {}
    for way, width, power in WIDTHS.findall((RESULTS / "few_bits_widths.txt").read_text()):
        widths, rates = lines.setdefault(f"{way} muP", ([], []))
        widths.append(int(width))
        rates.append(2.0 ** int(power))
    ax = plane("width of the network", "best rate of seven that were tried")
    ax.draw_lines({name: lines[name] for name in sorted(lines)}, marker="o", linewidth=4)
    ax.log_scale("x", base=2, at=lines["with muP"][0])
    ax.log_scale("y", lambda rate: f"1/{1 / rate:.0f}", base=2, at=2.0 ** np.arange(-10, -4))
    falls = lines["without muP"][1][0] / lines["without muP"][1][-1]
    with_it = len(set(lines["with muP"][1]))
    title = (
        f"Width {lines['with muP'][0][0]} to {lines['with muP'][0][-1]}: the best rate falls "
        f"{falls:g} times without muP, and with it {'stays' if with_it == 1 else 'moves, too'}"
    )
    return ax.finish("Best rates of a small GPT, measured", title, legend="best")


def torus() -> Drawing:
    """Rings along rows and columns of a torus; and the fewest steps on cables of no shape."""
    one, two = 2 * (SIDE**2 - 1), 2 * 2 * (SIDE - 1)
    schedule = fewest_steps(CABLES)
    sketch = Sketch(
        f"On {SIDE} x {SIDE} ranks one ring takes {one} steps, rows and columns {two}; four ranks "
        f"on other cables gather in {len(schedule)} steps"
    )
    place = {(r, c): (80 + 115 * c, 90 + 88 * r) for r in range(SIDE) for c in range(SIDE)}
    for (r, c), here in place.items():
        for there, colour in (((r, c + 1), BLUE), ((r + 1, c), WARM)):
            if there in place:
                sketch.arrow(*between(here, place[there], 28), colour, 4)
            elif c == SIDE - 1 and there[0] == r:
                sketch.drawing.line([(here[0] + 26, here[1]), (here[0] + 52, here[1])],
                                    stroke=colour, stroke_width=4)  # fmt: skip
            else:
                sketch.drawing.line([(here[0], here[1] + 26), (here[0], here[1] + 46)],
                                    stroke=colour, stroke_width=4)  # fmt: skip
        sketch.rank(*here, r * SIDE + c, 25)
    sketch.words(255, 24, "a torus: rows, then columns", 25, bold=True, colour=STRONG)
    sketch.words(255, 455, f"{two} steps; one ring of all: {one}", 24)
    sketch.words(850, 24, "any cables: an integer program", 25, bold=True, colour=STRONG)
    wide = 560 / len(schedule)
    for step, messages in enumerate(schedule):
        left = 570 + wide * step
        corners = [(left + 50, 170), (left + 50, 350), (left + wide - 45, 260),
                   (left + wide - 45, 400)]  # fmt: skip
        for a, b in CABLES:
            sketch.drawing.line([corners[a], corners[b]], stroke="#cccccc", stroke_width=3)
        for chunk, a, b in messages:
            # Two ways along one cable are drawn beside each other.
            (x, y), (to_x, to_y) = between(corners[a], corners[b], 27)
            long = np.hypot(to_x - x, to_y - y)
            right, down = 7 * (to_y - y) / long, -7 * (to_x - x) / long
            sketch.arrow((x + right, y + down), (to_x + right, to_y + down),
                         rank_colour(chunk), 4)  # fmt: skip
        for rank, corner in enumerate(corners):
            sketch.rank(*corner, rank, 23)
        sketch.words(left + wide / 2, 90, f"step {step + 1}", 22)
    sketch.words(850, 455, f"an all-gather in {len(schedule)} steps: none is shorter", 24)
    return sketch.drawing


def loads() -> tuple[np.ndarray, np.ndarray]:
    """How many tokens choose each expert, before the bias moves and after."""
    dice, bias = np.random.default_rng(23), np.zeros(EXPERTS)
    liking, seen = 0.5 / np.arange(1, EXPERTS + 1) ** 0.5, []
    for _ in range(ROUNDS):
        scores = liking + 0.1 * dice.standard_normal((TOKENS, EXPERTS)) + bias
        seen.append(np.bincount(scores.argmax(axis=1), minlength=EXPERTS))
        bias = next_bias(bias, seen[-1], SPEED)
    return seen[0], seen[-1]


def even_experts() -> Drawing:
    """Tokens of each expert without a bias and after some steps of it, in the unit's rule."""
    both = loads()
    mean = TOKENS / EXPERTS
    worst = [f"{load.max() / mean:.1f}" for load in both]
    sketch = Sketch(f"The fullest of {EXPERTS} experts has {worst[0]} times the mean load without "
                    f"a bias, {worst[1]} times after {ROUNDS} steps with one")  # fmt: skip
    titles = ("no bias", f"a bias, {ROUNDS} steps later")
    high = 340 / max(load.max() for load in both)
    for side, (load, title) in enumerate(zip(both, titles, strict=True)):
        left = 20 + 590 * side
        sketch.words(left + 265, 20, title, 27, bold=True, colour=STRONG)
        for expert, tokens in enumerate(load):
            tall = high * int(tokens)
            fills = WARM if tokens == load.max() else tint(BLUE, 0.8)
            sketch.box(left + 33 * expert, 410 - tall, 29, tall, fill=fills)
        level = 410 - high * mean
        sketch.drawing.line([(left, level), (left + 528, level)], stroke=INK, stroke_width=3,
                            stroke_dasharray="9 7")  # fmt: skip
        sketch.words(left + 265, 446, f"the fullest: {worst[side]} times the mean", 25)
    sketch.words(575, 486, f"tokens of {EXPERTS} experts; dashed: their mean; simulated", 20,
                 colour=QUIET)  # fmt: skip
    return sketch.drawing
