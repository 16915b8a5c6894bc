"""Recurrences and short formats: turns over a grid of cells, and what rounding does to numbers.

What to look at: diagonals of one colour in a grid; the valley between messages so short that they
cost their overhead often and so long that the ranks above wait; which way to sum has slope 1 (n
roundings) and which 1/2; how much of a histogram lies outside of what a format holds; and that a
halving of the loss scale, a step that was skipped, is hardly seen in the loss.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.ticker import MaxNLocator

from ddl_class.plots.frame import (
    BRIGHT,
    Curves,
    Numbers,
    Series,
    each_end,
    least,
    listed,
    need,
    panels,
    plane,
)
from ddl_runtime.pictures.style import INK, Look, Picture, Points, in_style
from ddl_runtime.pictures.words import spoken, time_text

MOST_NUMBERED = 240  # cells
WRONG = "#ee3377"
NARROW = 0.5  # powers of two in a bar


@in_style  # for the scale beside it, which has axes of its own
def plot_wavefronts(
    turns: Iterable[Sequence[tuple[int, int]]], layers: int, steps: int
) -> Picture:
    """Draw in which turn each cell (layer, step) of a grid is computed: a colour is a turn.

    A cell needs the one below it and the one to its left; one that is computed together with such
    a cell, or before it, is crossed out, and one that is never computed stays white.
    """
    turns = [list(turn) for turn in turns]
    turn_of = np.full((layers, steps), np.nan)
    for number, cells in enumerate(turns):
        for layer, step in cells:
            words = f"turn {number} holds the cell ({layer}, {step}); layers are 0 to {layers - 1}"
            words += f" and steps 0 to {steps - 1}, and a cell is (layer, step)"
            need(0 <= layer < layers and 0 <= step < steps, words)
            turn_of[layer, step] = number
    ax = plane("step", "layer", min(1.3 + 0.42 * layers, 5.5))
    look: Look = {"origin": "lower", "aspect": "auto", "vmin": 0, "vmax": max(len(turns) - 1, 1)}
    image = ax.imshow(turn_of, cmap="viridis", **look)
    if turn_of.size <= MOST_NUMBERED:
        ax.write_numbers_into(turn_of, 0.6 * len(turns), fontsize=9)
    else:
        ax.figure.colorbar(image, ax=ax, label="turn")
    early = too_early(turn_of)
    ax.plot(early[:, 1], early[:, 0], "x", color=WRONG, markersize=16, markeredgewidth=3)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator("auto", integer=True))
    widest, missing = max(map(len, turns)), int(np.isnan(turn_of).sum())
    takeaway = f"{turn_of.size} cells in {len(turns)} turns, at most {widest} of them at once"
    if missing:
        takeaway = f"{missing} of {turn_of.size} cells are never computed"
    elif len(early):
        takeaway = f"{len(early)} of {turn_of.size} cells come before one that they need"
    return ax.finish(f"A grid of {layers} layers and {steps} steps", takeaway, grid="")


def too_early(turn_of: np.ndarray) -> np.ndarray:
    """The cells (layer, step) that are computed when one that they need is not done yet."""
    wrong = np.zeros(turn_of.shape, bool)
    computed = ~np.isnan(turn_of)
    # A comparison with nan, which stands for a cell that is never computed, is not true.
    wrong[1:] |= ~(turn_of[:-1] < turn_of[1:])
    wrong[:, 1:] |= ~(turn_of[:, :-1] < turn_of[:, 1:])
    return np.argwhere(wrong & computed)


def plot_chunks(
    predicted: Points,
    simulated: Points,
    measured: Points,
    intervals: tuple[Numbers, Numbers] | None = None,
    *,
    alone: float | None = None,
) -> Picture:
    """Draw seconds over steps in a message; each is (chunks, seconds). `intervals` are the lows
    and highs of what was measured, `alone` the seconds of one rank that does everything."""
    ax = plane("steps in one message", "time of one pass")
    ax.draw_curve("predicted", predicted, "#ee6677", "predicted")
    ax.draw_curve("simulated", simulated, INK, "simulated", markersize=9)
    by_clock = (*measured, intervals) if intervals else measured
    ax.draw_curve("measured", by_clock, "#4477aa", "measured: median\nand interval")
    if alone is not None:
        ax.axhline(alone, color=INK, linestyle=":", label="one rank alone")
    ax.log_scale("x", base=2, at=measured[0])
    ax.set_ylim(bottom=0)
    ax.write_axis("y", time_text)
    chunks, seconds = measured
    bars = dict(zip(chunks, zip(*intervals, strict=True), strict=True)) if intervals else None
    alike = least(dict(zip(chunks, seconds, strict=True)), bars)
    expected, *_ = least(dict(zip(*predicted, strict=True)))
    unit = "step" if alike == [1] else "steps"
    takeaway = f"Best measured: messages of {listed(alike)} {unit}; predicted: {expected}"
    about = "Time of a pass over steps in a message"
    return ax.finish(about, takeaway, grid="y", legend="beside")


def plot_sum_errors(errors: Curves, bounds: Curves, *, unit_roundoff: float) -> Picture:
    """Draw errors, by the name of the way to sum, as shares of the sum of absolute values: (terms,
    relative errors). `bounds` of theory are dotted lines."""
    ax = plane("terms of the sum", "error / sum of absolute values", 4.4)
    ax.set(xscale="log", yscale="log")
    # Zero has no place on a logarithmic axis: what is right is drawn on its lower edge.
    floor = unit_roundoff / 30
    for place, (name, (terms, wrong)) in enumerate(errors.items()):
        look: Look = {"color": BRIGHT[place % len(BRIGHT)]}
        ax.plot(terms, np.maximum(wrong, floor), "o-", label=spoken(name, True), ms=5, **look)
        if name in bounds:
            ax.plot(*bounds[name], ":", linewidth=1.3, **look)
    ax.axhline(unit_roundoff, color=INK, linewidth=0.8)
    right: Look = {"xycoords": ("axes fraction", "data"), "ha": "right"}
    ax.note("one rounding", (1.0, unit_roundoff), (-4, 3), **right)
    ax.set_ylim(floor / 1.5, 2.0)
    most = max(max(terms) for terms, _ in errors.values())
    last = {name: np.asarray(wrong)[np.argmax(terms)] for name, (terms, wrong) in errors.items()}
    lost = [f"{spoken(name)} loses {100 * part:.3g}%" for name, part in each_end(last).items()]
    takeaway = f"Of {most:,.0f} terms, {', '.join(reversed(lost))}"
    about = "Relative error of a sum over its terms; dotted lines are bounds"
    return ax.finish(about, takeaway, legend="beside")


def plot_magnitudes(
    samples: Series, *, smallest: float, smallest_normal: float, largest: float
) -> Picture:
    """Draw how large the numbers of each sample are, beside the range of float16 by its three
    numbers: left of the grey line numbers lose bits, left of the first one they are zero."""
    ax = plane("size of a number", "share of all numbers", 3.8)
    sizes = {label: np.abs(np.ravel(np.asarray(x, float))) for label, x in samples.items()}
    powers = {label: np.log2(x[x > 0]) for label, x in sizes.items()}
    every = np.concatenate([*powers.values()])
    need(len(every), "all numbers are zero: a logarithm of them does not exist")
    zero, normal, most = edges = np.log2([smallest / 2, smallest_normal, largest])
    low, high = min(zero - 2, every.min()), max(most + 2, every.max())
    bins = np.arange(np.floor(low), np.ceil(high) + NARROW, NARROW).tolist()
    phrases = []
    for place, (label, some) in enumerate(powers.items()):
        whole = sizes[label]
        look: Look = {"color": BRIGHT[place], "alpha": 0.6, "label": label}
        ax.hist(some, bins, weights=np.full(len(some), 1 / max(1, len(whole))), **look)
        lost = f"{100 * np.mean(whole <= smallest / 2):.0f}% become zero"
        if infinite := np.mean(whole > largest):
            lost += f" and {100 * infinite:.0f}% infinite"
        phrases.append(f"{label}, {lost}")
    words = ("zero\nbelow", "fewer bits\nbelow", "infinite\nabove")
    for edge, text in zip(edges, words, strict=True):
        shade = 0.4 if edge == normal else 1.0
        ax.mark(edge, text, up=0.98, linestyle="-", linewidth=1.6, alpha=shade)
    ax.write_axis("x", "$2^{{{:.0f}}}$".format)
    ax.set_ylim(top=1.18 * ax.get_ylim()[1])  # room for the words
    about, takeaway = "Histogram of magnitudes beside the range of float16", "; ".join(phrases)
    return ax.finish(about, f"In float16: {takeaway}", grid="", legend="beside")


def plot_loss_scale(runs: Mapping[str, Points]) -> Picture:
    """Draw runs, by name: (loss before each step, scale in each step), one above the other."""
    above, below = panels(9.0, 4.6, rows=2, sharex=True, height_ratios=(3, 2))
    for ax, place, base in ((above, 0, 10), (below, 1, 2)):
        ax.set_yscale("log", base=base)
        ax.draw_runs({name: run[place] for name, run in runs.items()}, BRIGHT)
    above.set(ylabel="loss")
    below.set(xlabel="step of training", ylabel="loss scale")
    below.grid(True)
    ends = []
    for name, (losses, _) in runs.items():
        fell = losses[0] / losses[-1]
        ends.append(f"{name}: {f'{fell:.3g} times less' if fell > 1 else 'nothing is learned'}")
        if not np.isfinite(losses[-1]):
            ends[-1] = f"{name}: no finite number"
    about = "Loss and loss scale over the steps of training"
    return above.finish(about, f"Loss at the end: {'; '.join(ends)}", legend="beside")
