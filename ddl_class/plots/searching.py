"""Searches in pictures: who is trained for how long, what waiting costs, what luck looks like,
populations, what is made of several networks, and who chooses what.

What to look at: most curves that a halving stops early would have stayed above the others; where
run times are equal, waiting costs nothing and the asynchronous search is the slower one; the best
of many equal runs is better than the others only where it was chosen; how few lines of a
population's beginning have descendants at the end; and which ways of making one network of several
are worse than one alone. A cell of a map of choices is pale where several are tied; of the regrets
every dot is a question, a bar is the mean with its interval.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ddl_class.plots.convolutions import METHOD_COLOURS, draw_names, method_name
from ddl_class.plots.curves import BRIGHT, Curves, Numbers, Series, bright
from ddl_class.plots.frame import (
    Plane,
    count,
    extremes,
    finish_panels,
    in_percent,
    need,
    panels,
    plane,
)
from ddl_runtime.pictures.style import INK, Look, algorithm_colour, in_style, rank_colour
from ddl_runtime.pictures.words import spoken

STOPPED, CHOSEN = "#bbbbbb", BRIGHT[1]
BEST: Look = {"color": "#d55e00", "linewidth": 2.6, "marker": "o", "markersize": 4.5}
LOOKS: Mapping[str, Look] = {
    "goes on": {"color": "#b8b8b8", "linewidth": 1.0},
    "goes on from a winner's state": {"color": "#56b4e9", "linewidth": 1.4, "linestyle": ":"},
    "way of the best": BEST,
}
SPREAD = 0.22  # of a column: dots of one way of making a network beside each other
NO_ERROR = 1e-3  # where a network is drawn that makes none


@in_style
def plot_curves(
    steps: Numbers, curves: np.ndarray, rungs: Sequence[Sequence[int]] | None = None
) -> Figure:
    """Draw the loss of each trial, `curves[trial]`, after so many `steps` in all.

    With `rungs`, the trials of each rung: solid as far as they were trained, thin beyond that.
    """
    ax = plane("steps of training", "loss on the validation part")
    trained = [len(steps)] * len(curves)
    if rungs is not None:
        trained = [sum(trial in rung for rung in rungs) for trial in range(len(curves))]
    for curve, reached in zip(curves, trained, strict=True):
        if rungs is not None:
            ax.plot(steps, curve, ":", color=STOPPED, linewidth=0.8)
        chosen = rungs is not None and reached == len(steps)
        colour, width = (CHOSEN, 2.4) if chosen else (BRIGHT[0], 1.0)
        look: Look = {"color": colour, "linewidth": width, "markersize": 3}
        ax.plot(steps[:reached], curve[:reached], "o-", **look)
    ax.log_scale("x", count, at=steps)
    ax.log_scale("y")
    found = _best_of_the_trained(steps, np.asarray(curves), trained)
    return ax.finish(f"The losses of {len(curves)} trials over their steps", found)


def _best_of_the_trained(steps: Numbers, curves: np.ndarray, trained: Sequence[int]) -> str:
    """Which part of the work was done, and how good the best is that was trained to the end."""
    done, whole = sum(steps[reached - 1] for reached in trained), steps[-1] * len(curves)
    best = curves[np.array(trained) == len(steps), -1].min()
    if done == whole:
        return f"{len(curves)} trials, {whole:,} steps: the best ends at {best:.2g}"
    rank = int(np.sum(curves[:, -1] < best)) + 1
    place = "the best of all" if rank == 1 else f"number {rank} of all"
    return f"{done / whole:.0%} of the steps find {place}"


@in_style
def plot_waiting(told: Curves, simulated: Curves, measured: Curves) -> Figure:
    """Draw over the workers how many times as long searches take as if nobody ever waited.

    All by the names of the searches; a name that has no line is drawn without one.
    """
    ax = plane("workers", "times as long as without waiting", 4.4)
    grounds = {"formula": told, "simulated": simulated, "measured": measured}
    colours = ax.draw_all(grounds, bright, label="")
    ax.explain(colours, grounds, loc="upper left", ncols=2)
    ax.log_scale("x", count, base=2)
    ax.set_ylim(0, 1.4 * ax.get_ylim()[1])  # the legend needs room
    most = max(max(points[0]) for points in simulated.values())
    ends = ", ".join(
        f"{name.partition(',')[0]} takes {np.interp(most, *points):.2g}"
        for name, points in simulated.items()
        if max(points[0]) == most
    )
    found = f"{most:,} workers: {ends} times as long as without waiting"
    return ax.finish("The time of searches over the number of workers", found)


@in_style
def plot_luck(chosen_on: Numbers, others: Numbers) -> Figure:
    """Draw runs of the same settings: their errors where one is chosen, and on other data."""
    ax = plane("wrong answers", height=3.4)
    rows = {"validation part": np.asarray(chosen_on), "test part": np.asarray(others)}
    best = int(np.argmin(chosen_on))
    spread = np.random.default_rng(0).uniform(-0.16, 0.16, len(chosen_on))  # to see equal ones
    middle: Look = {"color": INK, "linewidth": 2.5, "label": "the middle of all"}
    chosen: Look = {"color": CHOSEN, "markersize": 11, "label": "the best on the validation part"}
    for row, errors in enumerate(rows.values()):
        ax.plot(errors, row + spread, "o", color=BRIGHT[0], alpha=0.6)
        median = ax.plot([np.median(errors)] * 2, [row - 0.3, row + 0.3], **middle)
        dot = ax.plot(errors[best], row + spread[best], "o", **chosen)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(1.6, -0.6)
    ax.xaxis.set_major_formatter("{x:.0%}")
    here, elsewhere = (1 - errors[best] / np.median(errors) for errors in rows.values())
    found = (
        f"The best of {len(chosen_on)} equal runs: {here:.0%} fewer errors where it was chosen, "
        f"{elsewhere:.0%} elsewhere"
    )
    legend: Look = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22), "ncols": 2}
    legend["handles"] = [*dot, *median]
    return ax.finish(
        "Errors of runs that differ by their seed only", found, grid="", legend=legend
    )


@in_style
def plot_population(
    losses: Sequence[np.ndarray], parents: Sequence[np.ndarray], rates: Sequence[Numbers]
) -> Figure:
    """Draw losses, parents and rates, of each generation (rows) and member;
    `parents[g][m]` is whose state of generation g - 1 member m went on from in generation g.

    A dotted line leads from a winner to the member that went on from its state.
    """
    lost, came_from, settings = np.array(losses), np.array(parents), np.array(rates, float)
    words = f"losses {lost.shape}, parents {came_from.shape} and rates {settings.shape}: give a "
    words += "row for each generation, and in it a number for each member, in all three"
    need(lost.shape == came_from.shape == settings.shape and lost.ndim == 2, words)
    line, alive = [int(np.argmin(lost[-1]))], np.arange(lost.shape[1])
    for row in came_from[:0:-1]:
        line.append(int(row[line[-1]]))
        alive = row[alive]
    line.reverse()
    axes = panels(9.5, 3.8, columns=2)
    seen = np.where(np.isinf(lost), np.nan, lost)  # who crashed has no loss
    for ax, label, rows in ((axes[0], "loss", seen), (axes[1], "rate", settings)):
        _descend(ax, rows, came_from, line)
        ax.set(xlabel="generation", ylabel=label)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(True)
        shown = rows[~np.isnan(rows)]
        if (shown > 0).all() and shown.max() > 5 * shown.min():
            ax.log_scale("y")
    axes[0].legend([Line2D([], [], **look) for look in LOOKS.values()], LOOKS)
    first, last = settings[0, line[0]], settings[-1, line[-1]]
    way = "stayed at" if first == last else f"went from {first:.3g} to"
    found = (
        f"All {len(alive)} members descend from {len({*alive.tolist()})} of the first; the best's "
        f"rate {way} {last:.3g}"
    )
    return finish_panels(axes, "Losses and rate of a population over its generations", found)


def _descend(ax: Plane, rows: np.ndarray, parents: np.ndarray, line: Sequence[int]) -> None:
    """Each member goes on from what its parent had; the line of the best lies above."""
    for generation in range(1, len(rows)):
        span = generation - 1, generation
        for member, parent in enumerate(parents[generation].tolist()):
            look = LOOKS["goes on" if parent == member else "goes on from a winner's state"]
            ax.plot(span, (rows[generation - 1, parent], rows[generation, member]), **look)
    ax.plot(rows, ".", color="#999999", markersize=4)
    ax.plot([row[member] for row, member in zip(rows, line, strict=True)], **BEST)


@in_style
def plot_consolidated(accuracies: Series) -> Figure:
    """Draw the accuracies of each way of making one answer, one for each seed; lower is better."""
    need(accuracies, "nothing to draw: give the accuracies of at least one way")
    x = "what is made of the networks   (dot: a seed, bar: median, number: recognised)"
    ax = plane(x, "not recognised, of pictures held out")
    middle = {name: float(np.median(values)) for name, values in accuracies.items()}
    for column, (name, values) in enumerate(accuracies.items()):
        # On a logarithmic axis of errors the good ones, all near 100%, can be told apart.
        wrong = np.maximum(1 - np.asarray(values), NO_ERROR)
        aside = np.linspace(-SPREAD, SPREAD, len(wrong)) if len(wrong) > 1 else np.zeros(1)
        ax.plot(column + aside, wrong, "o", color=rank_colour(column), markersize=4)
        ax.plot([column - 0.36, column + 0.36], [np.median(wrong)] * 2, color=INK)
        ax.note(f"{middle[name]:.1%}", (column, wrong.max()), (0, 6), ha="center")
    ax.log_scale("y")
    in_percent(ax.yaxis)
    ax.margins(y=0.12)
    ax.set_xticks(range(len(accuracies)), [name.replace(" ", "\n") for name in accuracies])
    worst, best = extremes(middle)
    found = f"Best: {best}, {middle[best]:.1%}; worst: {worst}, {middle[worst]:.1%}"
    about = "Accuracies on pictures held out, by what was made of them"
    return ax.finish(about, found, grid="y")


TIED = 0.45  # of a colour, where it is one among equals
ASIDE = 0.3  # of a row: dots of one chooser above each other
TICKS = (1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)  # times as long as the best
Mean = tuple[float, float, float]
"""A mean and the two ends of its interval."""


@in_style
def plot_choices(
    maps: Mapping[str, Sequence[Sequence[str]]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    tied: Sequence[Sequence[bool]] | None = None,
    row_quantity: str,
    column_quantity: str,
) -> Figure:
    """Draw maps beside each other, each a name for each row and column; the first is the truth.

    An empty name leaves a cell white: nobody asked there.
    """
    shape = len(rows), len(columns)
    tables = {name: np.asarray(chosen) for name, chosen in maps.items()}
    for name, table in tables.items():
        need(table.shape == shape, f"the map of {name} has shape {table.shape}, not {shape}")
    pale = np.zeros(shape, bool) if tied is None else np.asarray(tied)
    names = sorted({*np.concatenate([*tables.values()]).ravel().tolist()} - {""})
    colours = {
        name: METHOD_COLOURS.get(name) or algorithm_colour(name, place)
        for place, name in enumerate(names)
    }
    strength = dict.fromkeys(tables, np.where(pale, TIED, 1.0))
    size = 1.4 + 2.5 * len(maps), 0.36 * len(rows) + 2.4
    axes = draw_names(tables, colours, strength, size)
    step = -(-len(columns) // 6)
    for ax in axes:
        ax.set_xticks(range(0, len(columns), step), columns[::step], rotation=45, ha="right")
        ax.set_xlabel(column_quantity)
    axes[0].set_yticks(range(len(rows)), rows)
    axes[0].set_ylabel(row_quantity)
    words = {
        method_name(name) if name in METHOD_COLOURS else spoken(name): colour
        for name, colour in colours.items()
    }
    axes[-1].explain_colours(words | ({"(pale: tied)": "none"} if pale.any() else {}))
    truth, *others = tables
    asked = tables[truth] != ""
    parts = [f"{name} {(tables[name] == tables[truth])[asked].mean():.0%}" for name in others]
    found = f"{truth}: {len(np.unique(tables[truth][asked]))} ways win somewhere"
    if parts:
        found = f"As {truth}: {', '.join(parts)}"
    return finish_panels(axes, f"Maps of choices over {row_quantity} and {column_quantity}", found)


@in_style
def plot_regrets(regrets: Series, means: Mapping[str, Mean]) -> Figure:
    """Draw the regret of each question, a row for each chooser, the first one uppermost."""
    words = f"regrets of {', '.join(regrets) or 'nobody'} and means of "
    words += f"{', '.join(means) or 'nobody'}: give both of each chooser"
    need(regrets and set(regrets) == set(means), words)
    x = "time of what was chosen / time of the best   (diamond: mean, bar: 95% interval)"
    ax = plane(x, height=1.6 + 0.5 * len(regrets))
    for row, (name, values) in enumerate(regrets.items()):
        aside = ASIDE * (2 * np.random.default_rng(0).random(len(values)) - 1)
        colour = rank_colour(row)
        ax.plot(1 + np.asarray(values), row + aside, ".", color=colour, alpha=0.45, markersize=5)
        mean, low, high = (1 + number for number in means[name])
        ax.plot([low, high], [row, row], color=INK, linewidth=2.4)
        ax.plot([mean], [row], "D", color=colour, markeredgecolor=INK, markersize=7)
    ax.log_scale("x", at=TICKS)
    ax.name_rows(regrets)
    best, _ = extremes({name: mean for name, (mean, _, _) in means.items()})
    close = [name for name, (_, low, _) in means.items() if name != best and low <= means[best][2]]
    found = f"Least mean regret: {best}, {means[best][0]:.1%}"
    if close:
        others = close[0] if len(close) == 1 else f"{len(close)} others"
        found += f"; its interval meets that of {others}"
    return ax.finish("Regret of each chooser on questions held out", found, grid="x")
