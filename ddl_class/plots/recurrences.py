"""Recurrences and short formats: turns over a grid of cells, and what rounding does to numbers.

What to look at: diagonals of one colour in a grid; the valley between messages so short that they
cost their overhead often and so long that the ranks above wait; which way to sum leaves the ground
(both axes are logarithmic: slope 1 is n, slope 1/2 is sqrt(n)); how much of a histogram of
magnitudes lies outside of what a format holds; and that each halving of the loss scale, a step
that overflowed and was skipped, is hardly seen in the loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ddl_class.plots.boxes import write_numbers_into
from ddl_class.plots.curves import Curves, bright, draw
from ddl_class.plots.frame import (
    BESIDE,
    extremes,
    finish,
    log_scale,
    mark,
    note,
    panels,
    write_numbers,
)
from ddl_runtime.pictures.style import INK, Look, Points, in_style, new_axes, spoken, time_text

COLOURS = "viridis"
MOST_NUMBERED = 240  # cells
WRONG = "#ee3377"


@in_style
def plot_wavefronts(
    turns: Iterable[Sequence[tuple[int, int]]], layers: int, steps: int, *,
    title: str | None = None,
) -> Figure:  # fmt: skip
    """Draw in which turn each cell (layer, step) of a grid is computed."""
    turns = [list(turn) for turn in turns]
    turn_of = np.full((layers, steps), np.nan)
    for number, cells in enumerate(turns):
        for layer, step in cells:
            if not (0 <= layer < layers and 0 <= step < steps):
                raise ValueError(
                    f"turn {number} holds the cell ({layer}, {step}); layers are 0 to "
                    f"{layers - 1} and steps 0 to {steps - 1}, and a cell is (layer, step)"
                )
            turn_of[layer, step] = number
    ax = new_axes(9.0, min(1.3 + 0.42 * layers, 5.5))
    look: Look = {"origin": "lower", "aspect": "auto", "vmin": 0, "vmax": max(len(turns) - 1, 1)}
    image = ax.imshow(turn_of, cmap=COLOURS, **look)
    if turn_of.size <= MOST_NUMBERED:
        write_numbers_into(ax, turn_of, 0.6 * len(turns), fontsize=9)
    else:
        ax.figure.colorbar(image, ax=ax, label="turn")
    early = too_early(turn_of)
    ax.plot(early[:, 1], early[:, 0], "x", color=WRONG, markersize=16, markeredgewidth=3)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator("auto", integer=True))
    widest, missing = max(map(len, turns)), int(np.isnan(turn_of).sum())
    found = f"{turn_of.size} cells in {len(turns)} turns, at most {widest} of them at once"
    if missing:
        found = f"{missing} of {turn_of.size} cells are never computed"
    elif len(early):
        found = f"{len(early)} of {turn_of.size} cells come before one that they need"
    about = f"A grid of {layers} layers and {steps} steps"
    return finish(ax, about, found, title, x="step", y="layer", grid="")


def too_early(turn_of: np.ndarray) -> np.ndarray:
    """The cells (layer, step) that are computed when one that they need is not done yet."""
    wrong = np.zeros(turn_of.shape, bool)
    computed = ~np.isnan(turn_of)
    # A comparison with nan, which stands for a cell that is never computed, is not true.
    wrong[1:] |= ~(turn_of[:-1] < turn_of[1:])
    wrong[:, 1:] |= ~(turn_of[:, :-1] < turn_of[:, 1:])
    return np.argwhere(wrong & computed)


PREDICTED, MEASURED = "#ee6677", "#4477aa"


@in_style
def plot_chunks(
    predicted: Points,
    simulated: Points,
    measured: Points,
    intervals: tuple[Sequence[float], Sequence[float]] | None = None,
    *,
    alone: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw seconds over steps in a message; each is (chunks, seconds). `intervals` are the lows
    and highs of what was measured, `alone` the seconds of one rank that does everything."""
    ax = new_axes(9.0, 4.2)
    draw(ax, "predicted", predicted, PREDICTED, "predicted")
    draw(ax, "simulated", simulated, INK, "simulated", markersize=9)
    found_by_clock = (*measured, intervals) if intervals else measured
    draw(ax, "measured", found_by_clock, MEASURED, "measured: median\nand interval")
    if alone is not None:
        ax.axhline(alone, color=INK, linestyle=":", label="one rank alone")
    log_scale(ax, "x", base=2, at=measured[0])
    ax.set_ylim(bottom=0)
    write_numbers(ax.yaxis, time_text)
    told, best = (points[0][int(np.argmin(points[1]))] for points in (predicted, measured))
    found = f"Best are {best} steps in a message" + (
        ": so it was predicted and measured" if told == best else f"; {told} were predicted"
    )
    return finish(
        ax,
        "Time of a pass over steps in a message",
        found,
        title,
        x="steps in one message",
        y="time of one pass",
        grid="y",
        legend=BESIDE,
    )


@in_style
def plot_sum_errors(
    errors: Curves, bounds: Curves | None = None, *, unit_roundoff: float, title: str | None = None
) -> Figure:
    """Draw errors, by the name of the way to sum: (terms, relative errors); bounds likewise."""
    ax = new_axes(9.0, 4.4)
    ax.set_xscale("log")
    ax.set_yscale("log")
    # Zero has no place on a logarithmic axis: what is right is drawn on its lower edge.
    floor = unit_roundoff / 30
    for place, (name, (terms, wrong)) in enumerate(errors.items()):
        look: Look = {"color": bright(name, place)}
        ax.plot(terms, np.maximum(wrong, floor), "o-", label=spoken(name, True), ms=5, **look)
        if bounds and name in bounds:
            ax.plot(*bounds[name], ":", linewidth=1.3, **look)
    ax.axhline(unit_roundoff, color=INK, linewidth=0.8)
    right: Look = {"xycoords": ("axes fraction", "data"), "ha": "right"}
    note(ax, "one rounding", (1.0, unit_roundoff), (-4, 3), **right)
    ax.set_ylim(floor / 1.5, 2.0)
    most = max(max(terms) for terms, _ in errors.values())
    last = {name: np.asarray(wrong)[np.argmax(terms)] for name, (terms, wrong) in errors.items()}
    best, worst = extremes(last)
    found = (
        f"Of {most:,.0f} terms, {spoken(worst)} loses {100 * last[worst]:.2g}%, "
        f"{spoken(best)} {100 * last[best]:.2g}%"
    )
    about = "Relative error of a sum over its terms; dotted lines are bounds"
    names: Look = {"x": "terms of the sum", "y": "error / sum of absolute values"}
    return finish(ax, about, found, title, **names, legend=BESIDE)


NARROW = 0.5  # powers of two in a bar


@in_style
def plot_magnitudes(
    samples: Mapping[str, Sequence[float]], *, smallest: float, smallest_normal: float,
    largest: float, name: str = "float16", title: str | None = None,
) -> Figure:  # fmt: skip
    """Draw how large the numbers of each sample are, and a format's range by its three numbers."""
    ax = new_axes(9.0, 3.8)
    sizes = {label: np.abs(np.ravel(np.asarray(x, float))) for label, x in samples.items()}
    powers = {label: np.log2(x[x > 0]) for label, x in sizes.items()}
    every = np.concatenate([*powers.values()])
    if not len(every):
        raise ValueError("all numbers are zero: a logarithm of them does not exist")
    zero, normal, most = edges = np.log2([smallest / 2, smallest_normal, largest])
    low, high = min(zero - 2, every.min()), max(most + 2, every.max())
    bins = np.arange(np.floor(low), np.ceil(high) + NARROW, NARROW).tolist()
    said = []
    for place, (label, some) in enumerate(powers.items()):
        whole = sizes[label]
        look: Look = {"color": bright(label, place), "alpha": 0.6, "label": label}
        ax.hist(some, bins, weights=np.full(len(some), 1 / max(1, len(whole))), **look)
        lost = f"{100 * np.mean(whole <= smallest / 2):.0f}% become zero"
        if infinite := np.mean(whole > largest):
            lost += f" and {100 * infinite:.0f}% infinite"
        said.append(f"{label}, {lost}")
    words = ("zero\nbelow", "fewer bits\nbelow", "infinite\nabove")
    for edge, text in zip(edges, words, strict=True):
        shade = 0.4 if edge == normal else 1.0
        mark(ax, edge, text, up=0.98, linestyle="-", linewidth=1.6, alpha=shade)
    write_numbers(ax.xaxis, "$2^{{{:.0f}}}$".format)
    ax.set_ylim(top=1.18 * ax.get_ylim()[1])  # room for the words
    found, about = (
        f"In {name}: {'; '.join(said)}",
        f"Histogram of magnitudes beside the range of {name}",
    )
    names: Look = {"x": "size of a number", "y": "share of all numbers", "grid": ""}
    return finish(ax, about, found, title, **names, legend=BESIDE)


@in_style
def plot_loss_scale(runs: Mapping[str, Points], *, title: str | None = None) -> Figure:
    """Draw runs, by name: (loss before each step, scale in each step)."""
    above, below = panels(9.0, 4.6, rows=2, sharex=True, height_ratios=(3, 2))
    ends = []
    for place, (name, (losses, scales)) in enumerate(runs.items()):
        above.semilogy(losses, color=bright(name, place), label=name)
        below.semilogy(scales, color=bright(name, place), base=2)
        fell = losses[0] / losses[-1]
        ends.append(f"{name}: {'nothing is learned' if fell <= 1 else f'{fell:.3g} times less'}")
    below.set(xlabel="step of training", ylabel="loss scale")
    below.grid(True)
    found, about = (
        f"Loss at the end: {'; '.join(ends)}",
        "Loss and loss scale over the steps of training",
    )
    return finish(above, about, found, title, y="loss", legend=BESIDE)
