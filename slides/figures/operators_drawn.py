"""Diagrams of the first part: work and depth, windows, im2col, Winograd, pruned layers."""

from __future__ import annotations

import re

import numpy as np
import torch
from torch.nn import functional

from benchmarks.recorded import RESULTS, sides
from ddl_class.plots.svg import Drawing
from slides.figures.operators import spoilt
from slides.figures.sketch import PALE, QUIET, STRONG, WARM, Sketch, bars
from slides.figures.titles import shade

LEVELS = 4  # of a tree of sixteen leaves


def work_and_depth() -> Drawing:
    """Sixteen numbers added by a chain and by a tree: the same work, another depth."""
    leaves = 2**LEVELS
    sketch = Sketch(
        f"A chain and a tree: {leaves - 1} additions each, depths {leaves - 1} and {LEVELS}"
    )
    for step in range(leaves - 1):
        sketch.drawing.circle(60 + 31 * step, 60 + 23 * step, 11, fill=WARM)
        if step:
            sketch.drawing.line(
                [(29 + 31 * step, 37 + 23 * step), (60 + 31 * step, 60 + 23 * step)],
                stroke=WARM,
                stroke_width=3,
            )
    for level in range(LEVELS):
        count, y = leaves >> (level + 1), 60 + 110 * level
        for k in range(count):
            x = 640 + 480 * (k + 0.5) / count
            if level < LEVELS - 1:
                above = 640 + 480 * (k // 2 + 0.5) / (count // 2)
                sketch.drawing.line([(x, y), (above, y + 110)], stroke=QUIET, stroke_width=3)
            sketch.drawing.circle(x, y, 14, fill=WARM if k == 0 else STRONG)
    for x, text in (
        (250, f"work {leaves - 1}, depth {leaves - 1}"),
        (880, f"work {leaves - 1}, depth {LEVELS}"),
    ):
        sketch.words(x, 470, text, 28, bold=True)
    return sketch.drawing


def four_ways() -> Drawing:
    """What each method of a convolution handles at a time, with its multiplications an output."""
    sketch = Sketch(
        "direct: a window of 9; im2col: a column of a matrix; FFT: all frequencies; "
        "Winograd: a tile of 4 x 4 for 2 x 2 outputs, 16 products in place of 36"
    )
    for number, name in enumerate(("direct", "im2col", "FFT", "Winograd")):
        left = 290 * number
        for row in range(6):
            for column in range(6):
                inside = {
                    "direct": row in (1, 2, 3) and column in (1, 2, 3),
                    "im2col": column == 2,
                    "FFT": True,
                    "Winograd": 1 <= row <= 4 and 1 <= column <= 4,
                }[name]
                sketch.box(
                    left + 44 * column, 20 + 44 * row, 41, 41, fill=WARM if inside else PALE
                )
        sketch.words(left + 132, 325, name, 30, bold=True, colour=STRONG)
        what = (
            "slide the window",
            "a window is a column:\none matrix product",
            "a product of\nfrequencies",
            "16 products in place\nof 36 for 2 x 2 outputs",
        )[number]
        sketch.words(left + 132, 400, what, 22)
    return sketch.drawing


def spread() -> Drawing:
    """The outputs of each method, and those that one broken value of the picture reaches."""
    outputs = spoilt()
    counts = {name: int(bad.sum()) for name, bad in outputs.items()}
    sketch = Sketch("Spoilt outputs: " + ", ".join(f"{n} by {name}" for name, n in counts.items()))
    for number, (name, bad) in enumerate(outputs.items()):
        left, side = 292 * number, 264 / len(bad)
        for (row, column), is_bad in np.ndenumerate(bad):
            x, y = left + side * column, 40 + side * row
            sketch.box(x, y, side - 2, side - 2, fill="#cc3311" if is_bad else PALE)
        sketch.words(left + 132, 350, name, 30, bold=True, colour=STRONG)
        words = f"{counts[name]} of {bad.size}\nare spoilt"
        sketch.words(left + 132, 425, words, 27)
    return sketch.drawing


def unfolded() -> Drawing:
    """A picture of 4 x 4 and its columns, as torch unfolds it for a kernel of 3 x 3."""
    picture = torch.arange(16.0).reshape(1, 1, 4, 4)
    columns = functional.unfold(picture, 3)[0].int().numpy()
    sketch = Sketch(
        f"A picture of 16 numbers becomes a matrix of {columns.shape[0]} x "
        f"{columns.shape[1]}; each window is a column",
        640,
        500,
    )
    for k in range(16):
        inside = k in columns[:, 0]
        sketch.box(
            20 + 58 * (k % 4),
            120 + 58 * (k // 4),
            54,
            54,
            str(k),
            WARM if inside else shade(0.1 + k / 40),
            22,
        )
    sketch.words(134, 90, "picture", 24, bold=True)
    sketch.arrow((270, 235), (345, 235), QUIET, 5)
    for (row, column), k in np.ndenumerate(columns):
        sketch.box(
            370 + 66 * column,
            30 + 49 * row,
            62,
            45,
            str(k),
            WARM if column == 0 else shade(0.1 + k / 40),
            20,
        )
    sketch.words(500, 490, f"{columns.size} numbers from 16", 24, bold=True)
    return sketch.drawing


def alexnet_bars() -> Drawing:
    """The methods on AlexNet's second layer beside torch's, as recorded."""
    side = next(each for each in sides("convolutions.txt") if "96 to 256 channels" in each.of)
    rows = [
        (name.replace("_", " "), row.median, f"{row.median:.0f} ms")
        for name, row in side.rows.items()
    ]
    ends = [(row.low, row.high) for row in side.rows.values()]
    return bars(
        "AlexNet's second layer, measured",
        rows,
        "milliseconds: medians, lines are 95% intervals",
        "torch",
        ends,
        left=200,
    )


def pruned() -> Drawing:
    """What a layer with zeros took, of the dense one: recorded, for two kinds of zeros."""
    text = (RESULTS / "pruned_products.txt").read_text()
    rows = []
    for zeros in (90, 99):
        for form, name in (("layer", "anywhere"), ("columns", "whole columns")):
            block = text.partition("1024 x 1024 times a batch")[2].partition("\n\n")[0]
            [ratio] = re.findall(rf"{zeros}% zeros  {form} .*sparse / dense +([\d.]+)", block)
            rows.append((f"{zeros}% zeros, {name}", float(ratio), f"{float(ratio):g} times"))
    return bars(
        "A pruned layer beside the dense one",
        [("dense", 1.0, "1"), *rows],
        "times as long as the dense product of 1024 x 1024, one thread, measured",
        "dense",
    )
