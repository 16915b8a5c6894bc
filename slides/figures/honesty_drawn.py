"""Diagrams of honest numbers: how sure a median is, planted faults, Deep500's levels."""

from __future__ import annotations

import tomllib
from collections import Counter
from textwrap import fill

from ddl_class.doctor.finding import ROOT
from ddl_class.exercises.mutants.bug import BUGS
from ddl_class.plots.svg import Drawing
from ddl_measure.interval import coverage
from ddl_measure.reports.review import review
from slides.figures.honesty import tricks
from slides.figures.sketch import INK, PALE, QUIET, STRONG, WARM, WIDTH, Sketch, bars


def repetitions() -> Drawing:
    """How often an interval of so many repetitions holds the median."""
    rows = [
        (f"{count} times", 100 * coverage(count), f"{coverage(count):.0%}")
        for count in (2, 3, 4, 5, 6, 11, 31)
    ]
    return bars(
        "How often an interval holds the median",
        rows,
        "in so many % of experiments the interval holds the median",
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


def reviewed() -> Drawing:
    """How many faults a review finds in the results of each way to fool; which in the first."""
    counts = {way: len(review(trick.fooling)) for way, trick in tricks().items()}
    [first] = review(tricks()[1].fooling)
    sketch = Sketch(
        "Faults that a review finds: "
        + ", ".join(f"way {way}: {count}" for way, count in counts.items())
        + f". Way 1, {first.where}: {first.fault}. Next: {first.next}"
    )
    for place, (way, count) in enumerate(counts.items()):
        x = 150 + 84 * place
        colour = "#cc3311" if count else "#228833"
        sketch.box(x, 10, 76, 76, str(count), colour, 30, bold=True)
        sketch.words(x + 38, 108, str(way), 22, colour=QUIET)
    sketch.words(132, 48, "faults", 24, "end", bold=True)
    sketch.words(132, 108, "way", 22, "end", QUIET)
    sketch.arrow((188, 126), (188, 190), WARM, 5)
    parts = (("where", first.where), ("fault", first.fault), ("next", first.next))
    for row, (name, words) in enumerate(parts):
        y = 196 + 76 * row
        sketch.box(0, y, 130, 68 if row < 2 else 120, name, STRONG, 24, bold=True)
        sketch.box(130, y, 1020, 68 if row < 2 else 120, fill=PALE)
        sketch.words(150, y + (34 if row < 2 else 60), fill(words, 72), 24, "start")
    return sketch.drawing


def recipe() -> Drawing:
    """What stands in a recipe, and what comes out beside another person's numbers."""
    with (ROOT / "benchmarks" / "recipes" / "digits_on_two_ranks.toml").open("rb") as file:
        written = tomllib.load(file)
    target = written["target"]
    rows = (
        ("fixed", ", ".join(f"{name} {value}" for name, value in written["fixed"].items())),
        ("free", ", ".join(written["free"])),
        ("target", f"{target['accuracy']:.0%}, {target['in_a_row']} looks in a row"),
        ("seeds", ", ".join(map(str, written["seeds"]))),
        ("ranks", str(written["ranks"])),
    )
    sketch = Sketch(f"The recipe “{written['title']}”: " + "; ".join(map(": ".join, rows)))
    sketch.box(0, 10, 510, 400, fill="#ffffff", edge=STRONG)
    sketch.box(0, 10, 510, 56, f"{written['title']}.toml".replace(" ", "_"), STRONG, 24, bold=True)
    for row, (name, words) in enumerate(rows):
        y = 100 + 64 * row
        sketch.words(110, y, name, 22, "end", WARM, True)
        sketch.words(128, y, words, 22, "start")
    sketch.arrow((515, 110), (650, 110), INK, 6, "recipe run", 22)
    for place, (name, colour) in enumerate((("yours.json", "#4477aa"), ("theirs.json", QUIET))):
        sketch.box(655, 60 + 170 * place, 215, 100, name, colour, 25, bold=True)
        sketch.arrow((875, 110 + 170 * place), (935, 165 + 70 * place), INK, 5)
    sketch.box(940, 130, 210, 140, "do the\nintervals\noverlap?", PALE, 25, STRONG)
    sketch.words(575, 460, "the exit status says whether the target was reached", 26)
    return sketch.drawing
