"""Searches in pictures: how long each trial is trained, what waiting and luck are worth,
populations, what is made of several networks, architectures, and what each learner chooses.

What to look at: most curves that a halving stops early would have stayed above the others; the
best of many equal runs is better than the others only where it was chosen; how few lines of a
population's beginning have descendants at the end; which ways of making one network of several are
worse than one alone; where a staircase is flat, more of the price buys nothing; how wide the cloud
is where two scores should agree; and choices that are pale, where several are tied.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import MaxNLocator

from ddl_class.plots.convolutions import METHOD_COLOURS, draw_names, method_name
from ddl_class.plots.frame import (
    BRIGHT,
    Curves,
    Numbers,
    Series,
    each_end,
    extremes,
    need,
    panels,
    plane,
)
from ddl_runtime.pictures.style import INK, Look, Picture, Points, algorithm_colour, rank_colour
from ddl_runtime.pictures.words import spoken

STOPPED, CHOSEN, PALE = "#bbbbbb", BRIGHT[1], "#c9ccd1"
BEST: Look = {"color": "#d55e00", "linewidth": 2.6, "marker": "o", "markersize": 4.5}
LOOKS: Mapping[str, Look] = {
    "goes on": {"color": "#b8b8b8", "linewidth": 1.0},
    "goes on from a winner's state": {"color": "#56b4e9", "linewidth": 1.4, "linestyle": ":"},
    "way of the best": BEST,
}
SPREAD = 0.22  # of a column: dots of one way of making a network beside each other
NO_ERROR = 1e-3  # where a network is drawn that makes none


def plot_curves(
    steps: Numbers, curves: np.ndarray, rungs: Sequence[Sequence[int]] | None = None
) -> Picture:
    """Draw the loss of each trial, `curves[trial]`, over its `steps` in all.

    With `rungs`, the trials of each rung: solid as far as they were trained, thin beyond that.
    """
    ax = plane("steps of training", "loss on the validation part")
    trained = [len(steps)] * len(curves)
    if rungs is not None:
        trained = [sum(trial in rung for rung in rungs) for trial in range(len(curves))]
    for curve, reached in zip(curves, trained, strict=True):
        look: Look = {"color": BRIGHT[0], "linewidth": 1.0}
        if rungs is not None:
            ax.plot(steps, curve, ":", color=STOPPED, linewidth=0.8)
            if reached == len(steps):
                look = {"color": CHOSEN, "linewidth": 2.4}
        ax.plot(steps[:reached], curve[:reached], "o-", markersize=3, **look)
    ax.log_scale("x", at=steps)
    ax.log_scale("y")
    done, whole = sum(steps[reached - 1] for reached in trained), steps[-1] * len(curves)
    ends = np.asarray(curves)[:, -1]
    best = ends[np.array(trained) == len(steps)].min()
    better = int(np.sum(ends < best))
    place = f"number {better + 1} of all" if better else "the best of all"
    takeaway = f"{done / whole:.0%} of the steps find {place}"
    if done == whole:
        takeaway = f"{len(curves)} trials, {whole:,} steps: the best ends at {best:.2g}"
    return ax.finish(f"The losses of {len(curves)} trials over their steps", takeaway)


def plot_waiting(predicted: Curves, simulated: Curves, measured: Curves) -> Picture:
    """Draw over the workers how many times as long a search takes as without any waiting.

    All by the names of the searches; a name that has no line is drawn without one.
    """
    ax = plane("workers", "times as long as without waiting", 4.4)
    grounds = {"formula": predicted, "simulated": simulated, "measured": measured}
    ax.explain(ax.draw_all(grounds, BRIGHT, label=""), grounds, loc="upper left", ncols=2)
    ax.log_scale("x", base=2)
    ax.set_ylim(0, 1.4 * ax.get_ylim()[1])  # the legend needs room
    most = max(max(workers) for workers, *_ in simulated.values())
    ends = ", ".join(
        f"{name.partition(',')[0]} takes {np.interp(most, *points):.2g}"
        for name, points in simulated.items()
        if max(points[0]) == most
    )
    takeaway = f"{most:,} workers, simulated: {ends} times as long as without waiting"
    return ax.finish("The time of searches over the number of workers", takeaway)


def plot_luck(chosen_on: Numbers, others: Numbers) -> Picture:
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
    there = f"{abs(elsewhere):.0%} {'fewer' if elsewhere >= 0 else 'more'}"
    takeaway = f"The best of {len(chosen_on)} equal runs, beside the middle one: {here:.0%} fewer "
    takeaway += f"errors where it was chosen, {there} elsewhere"
    below: Look = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22), "ncols": 2}
    about = "Errors of runs that differ by their seed only"
    return ax.finish(about, takeaway, grid="", legend={**below, "handles": [*dot, *median]})


def plot_population(
    losses: Sequence[np.ndarray], parents: Sequence[np.ndarray], rates: Sequence[Numbers]
) -> Picture:
    """Draw losses, parents and rates for each generation (rows) and member. Member m of generation
    g went on from the state of member `parents[g][m]` of generation g - 1.

    A dotted line leads from a winner to the member that went on from its state.
    """
    lost, came_from, settings = np.array(losses), np.array(parents), np.array(rates, float)
    words = f"losses {lost.shape}, parents {came_from.shape} and rates {settings.shape}: give a "
    words += "row for each generation, and in it a number for each member, in all three"
    need(lost.shape == came_from.shape == settings.shape and lost.ndim == 2, words)
    line, alive = [int(np.argmin(lost[-1]))], np.arange(lost.shape[1])
    for row in came_from[:0:-1]:
        line.insert(0, int(row[line[0]]))
        alive = row[alive]
    axes = panels(9.5, 3.8, columns=2)
    seen = np.where(np.isinf(lost), np.nan, lost)  # a member that crashed has no loss
    for ax, label, rows in zip(axes, ("loss", "rate"), (seen, settings), strict=True):
        # Each member goes on from what its parent had; the line of the best lies above.
        for (generation, member), parent in np.ndenumerate(came_from[1:]):
            look = LOOKS["goes on" if parent == member else "goes on from a winner's state"]
            ends = rows[generation, parent], rows[generation + 1, member]
            ax.plot((generation, generation + 1), ends, **look)
        ax.plot(rows, ".", color="#999999", markersize=4)
        ax.plot([row[member] for row, member in zip(rows, line, strict=True)], **BEST)
        ax.set(xlabel="generation", ylabel=label)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(True)
        shown = rows[~np.isnan(rows)]
        if (shown > 0).all() and shown.max() > 5 * shown.min():
            ax.log_scale("y")
    axes[0].legend([Line2D([], [], **look) for look in LOOKS.values()], LOOKS)
    first, last = settings[0, line[0]], settings[-1, line[-1]]
    way = "stayed at" if first == last else f"went from {first:.3g} to"
    descend = f"All {len(alive)} members descend from {len({*alive.tolist()})} of the first"
    takeaway = f"{descend}; the best's rate {way} {last:.3g}"
    return axes[0].finish_all("Losses and rate of a population over its generations", takeaway)


def plot_consolidated(accuracies: Series) -> Picture:
    """Draw the accuracies of each way of making one answer, one for each seed; lower is better."""
    need(accuracies, "nothing to draw: give the accuracies of at least one way")
    x = "what is made of the networks   (dot: a seed, bar: median, number: recognised)"
    ax = plane(x, "not recognised, of pictures held out")
    middle = {name: float(np.median(values)) for name, values in accuracies.items()}
    for column, (name, values) in enumerate(accuracies.items()):
        # On a logarithmic axis of errors the good ones, all near 100%, can be seen apart.
        wrong = np.maximum(1 - np.asarray(values), NO_ERROR)
        aside = np.linspace(-SPREAD, SPREAD, len(wrong)) if len(wrong) > 1 else np.zeros(1)
        ax.plot(column + aside, wrong, "o", color=rank_colour(column), markersize=4)
        ax.plot([column - 0.36, column + 0.36], [np.median(wrong)] * 2, color=INK)
        ax.note(f"{middle[name]:.1%}", (column, wrong.max()), (0, 6), ha="center")
    ax.log_scale("y")
    ax.in_percent("y")
    ax.margins(y=0.12)
    ax.set_xticks(range(len(accuracies)), [name.replace(" ", "\n") for name in accuracies])
    ends = [f"{name}: {accuracy:.1%}" for name, accuracy in each_end(middle).items()]
    takeaway = f"Recognised, medians of the seeds: {'; '.join(reversed(ends))}"
    about = "Accuracies on pictures held out, by what was made of them"
    return ax.finish(about, takeaway, grid="y")


# -- architectures ------------------------------------------------------------------------------

PLACE = 0.16  # half the width of a cell's place, in distances between two


def plot_cell(operations: Mapping[str, str], living: Collection[str]) -> Picture:
    """Draw `operations` by their edges, as {"0-1": "conv3"}, as arcs above the cell's places;
    those that are `living` in ink, those that lead nowhere pale."""
    ax = plane(height=3.4)
    last = max(int(edge.split("-")[1]) for edge in operations)
    drawn = {edge: name for edge, name in operations.items() if name != "none"}
    for edge, name in drawn.items():
        ink = INK if edge in living else PALE
        start, end = map(int, edge.split("-"))
        reach = end - start
        # The end of an arc is a little left of the middle, so that arrows do not meet.
        ends = (start + PLACE * 0.6, PLACE), (end - PLACE * 0.6, PLACE)
        look: Look = {"arrowstyle": "-|>", "mutation_scale": 13, "linewidth": 1.6, "color": ink}
        bend = f"arc3,rad={-0.28 - 0.1 * reach}"
        ax.add_patch(FancyArrowPatch(*ends, connectionstyle=bend, **look))
        box = {"facecolor": "white", "edgecolor": ink, "boxstyle": "round,pad=0.25"}
        height = PLACE + (0.14 + 0.05 * reach) * reach
        ax.write((start + end) / 2, height, name, color=ink, bbox=box, fontsize=9)
    for place in range(last + 1):
        corner = place - PLACE, -PLACE
        ax.round_box(*corner, 2 * PLACE, 2 * PLACE, 0.05, facecolor=INK)
        ax.write(place, 0, place, color="white", fontweight="bold", fontsize=10)
    for place, words in ((0, "what comes in"), (last, "what goes out")):
        ax.write(place, -0.3, words, va="baseline", color=INK, fontsize=10)
    ax.set(xlim=(-0.6, last + 0.6), ylim=(-0.4, PLACE + (0.14 + 0.05 * last) * last + 0.15))
    ax.axis("off")
    dead = {edge: "" if edge in living else " (leads nowhere)" for edge in drawn}
    nowhere = sum(map(bool, dead.values()))
    takeaway = f"Edges that count: {len(drawn) - nowhere} of {len(operations)}"
    if nowhere:
        takeaway += f"; with an operation in vain: {nowhere}"
    edges = ", ".join(f"{edge} {name}{dead[edge]}" for edge, name in drawn.items())
    more = f"{edges or 'No operation'}."
    return ax.finish(f"A cell of {last + 1} places", takeaway, grid="", more=more)


def plot_architectures(clouds: Mapping[str, Points], front: Points, price: str) -> Picture:
    """Draw clouds of (prices, errors) by the search's name, and the front through all of them: a
    mark is a trained network, the staircase joins those that no other one dominates."""
    words = "a front needs at least one point, and as many errors as prices"
    need(0 < len(front[0]) == len(front[1]), words)
    ax = plane(price, "errors on the validation part", 4.4)
    for number, (name, cloud) in enumerate(clouds.items()):
        look: Look = {"color": rank_colour(number), "alpha": 0.65, "markersize": 5}
        ax.plot(*cloud, "osD^v"[number % 5], label=name, **look)
    order = np.argsort(front[0])
    prices, errors = (np.asarray(values, float)[order] for values in front)
    ax.step(prices, errors, where="post", color=INK, linewidth=1.4, label="the front")
    ax.plot(prices, errors, "o", color=INK, markerfacecolor="none", markersize=9)
    ax.log_scale("x")
    ax.in_percent("y")
    trained = sum(len(values) for values, _ in clouds.values())
    takeaway = (
        f"{len(prices)} of {trained} networks are on the front: {errors[0]:.1%} to "
        f"{errors[-1]:.1%} of errors for {prices[-1] / prices[0]:.3g} times the price"
    )
    more = f"Searches: {', '.join(clouds)}."
    return ax.finish(f"Errors over {price}", takeaway, legend="beside", more=more)


def plot_agreement(
    compared: Mapping[str, Points], taus: Mapping[str, tuple[float, float, float]]
) -> Picture:
    """Draw for each cheaper way of scoring, by its name, (its scores, those of the costly way).

    `taus` are rank correlations with the ends of their intervals.
    """
    axes = panels(4.2 * len(compared), 4.0, columns=len(compared), sharey=True)
    for ax, (name, points) in zip(axes, compared.items(), strict=True):
        ax.plot(*points, "o", color=rank_colour(0), alpha=0.65)
        words = "tau = {:.2f} ({:.2f} to {:.2f})".format(*taus[name])
        ax.set_title(words, fontweight="normal", fontsize=10)
        ax.set_xlabel(f"errors by {name}")
        ax.in_percent("x", "y")
        ax.grid(True)
    axes[0].set_ylabel("errors when trained alone")
    alike = ", ".join(f"{(1 + taus[name][0]) / 2:.0%} ({name})" for name in compared)
    takeaway = f"Pairs in the same order: {alike}"
    more = "; ".join(f"{n}: tau {t:.2f}, {a:.2f} to {b:.2f}" for n, (t, a, b) in taus.items())
    about = f"Scores of {len(next(iter(compared.values()))[0])} architectures"
    return axes[0].finish_all(about, takeaway, more=f"{more}.")


# -- choices --------------------------------------------------------------------------------------

TIED = 0.45  # of a colour, where it is one among equals
ASIDE = 0.3  # of a row: dots of one chooser above each other
TICKS = (1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)  # times as long as the best
Mean = tuple[float, float, float]
"""A mean and the two ends of its interval."""


def plot_choices(
    maps: Mapping[str, Sequence[Sequence[str]]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    tied: Sequence[Sequence[bool]] | None = None,
    row_quantity: str,
    column_quantity: str,
) -> Picture:
    """Draw maps beside each other, each a name for each row and column; the first is the truth.

    An empty name leaves a cell white: it was not asked for.
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
    words = {name: method_name(name) if name in METHOD_COLOURS else spoken(name) for name in names}
    size = 1.4 + 2.5 * len(maps), 0.36 * len(rows) + 2.4
    strength = dict.fromkeys(tables, np.where(pale, TIED, 1.0))
    axes = draw_names(tables, colours, strength, size, row_quantity, column_quantity)
    step = -(-len(columns) // 6)
    for ax in axes:
        ax.set_xticks(range(0, len(columns), step), columns[::step], rotation=45, ha="right")
    axes[0].set_yticks(range(len(rows)), rows)
    shown = {words[name]: colour for name, colour in colours.items()}
    axes[-1].explain_colours(shown | ({"(pale: tied)": "none"} if pale.any() else {}))
    truth, *others = tables
    asked = tables[truth] != ""
    parts = [f"{name} in {(tables[name] == tables[truth])[asked].mean():.0%}" for name in others]
    takeaway = f"{truth}: {len(np.unique(tables[truth][asked]))} ways win somewhere"
    if parts:
        takeaway = f"The same winner as {truth}: {', '.join(parts)}"
    return axes[0].finish_all(
        f"Maps of choices over {row_quantity} and {column_quantity}", takeaway
    )


def plot_regrets(regrets: Series, means: Mapping[str, Mean]) -> Picture:
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
    most = 1 + max(map(np.max, regrets.values()))
    ax.log_scale("x", at=[tick for tick in TICKS if tick == 1 or tick > most**0.08])
    ax.name_rows(regrets)
    choosers = {name: mean for name, mean in means.items() if name != "measured"} or means
    best, _ = extremes({name: mean for name, (mean, _, _) in choosers.items()})
    high = means[best][2]
    close = [name for name, (_, low, _) in choosers.items() if name != best and low <= high]
    takeaway = f"Least mean regret of a chooser: {best}, {means[best][0]:.1%}"
    if close:
        others = close[0] if len(close) == 1 else f"{len(close)} others"
        takeaway += f"; its interval meets that of {others}"
    return ax.finish("Regret of each chooser on questions held out", takeaway, grid="x")
