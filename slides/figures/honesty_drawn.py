"""Diagrams of honest numbers: how sure a median is, planted faults, Deep500's levels."""

from __future__ import annotations

from collections import Counter

from ddl_class.exercises.mutants.bug import BUGS
from ddl_class.plots.svg import Drawing
from ddl_measure.interval import coverage
from slides.figures.sketch import INK, PALE, STRONG, WIDTH, Sketch, bars


def repetitions() -> Drawing:
    """How often an interval of so many repetitions holds the median."""
    rows = [
        (f"{count} times", 100 * coverage(count), f"{coverage(count):.0%}")
        for count in (2, 3, 4, 5, 6, 11, 31)
    ]
    return bars(
        "How often an interval holds the median",
        rows,
        "% of experiments; the interval lies between two of the ordered times",
        "6 times",
    )


def faults() -> Drawing:
    """Faults that are planted in the library, by level, with an example of each."""
    counted = Counter(bug.level for bug in BUGS)
    sketch = Sketch(
        "Planted faults: " + ", ".join(f"{n} in {level}" for level, n in counted.items())
    )
    for row, (level, count) in enumerate(counted.items()):
        y = 20 + 155 * row
        sketch.words(190, y + 30, level, 26, "end", STRONG, True)
        for k in range(count):
            sketch.box(210 + 58 * k, y, 52, 60, fill="#cc3311")
        sketch.words(225 + 58 * count, y + 30, str(count), 28, "start", bold=True)
        example = next(bug.what for bug in BUGS if bug.level == level)
        sketch.words(210, y + 95, f"for example: {example}", 22, "start")
    return sketch.drawing


def levels() -> Drawing:
    """Deep500's four levels, each made of the one below."""
    rows = (
        ("0 operators", "Is it right, and how fast?", "errors, maps, gradient checks"),
        ("1 networks", "What does each part take?", "seconds and bytes, part by part"),
        ("2 training", "Does it learn, and how soon?", "accuracy over time, events"),
        ("3 distributed", "What do many ranks change?", "bytes, waiting, scaling"),
    )
    sketch = Sketch("Deep500: " + "; ".join(" ".join(row) for row in rows))
    for number, (name, question, measured) in enumerate(rows):
        y, inset = 375 - 122 * number, 60 * number
        colour = (STRONG, "#5b4cab", "#8f83cc", PALE)[number]
        sketch.box(inset, y, WIDTH - 2 * inset, 112, fill=colour)
        ink = INK if number == 3 else "#ffffff"
        sketch.words(WIDTH / 2, y + 34, f"{name}: {question}", 27, colour=ink, bold=True)
        sketch.words(WIDTH / 2, y + 80, measured, 22, colour=ink)
    return sketch.drawing
