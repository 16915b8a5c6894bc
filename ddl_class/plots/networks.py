"""Networks on many ranks: buckets of gradients, layers that are split, pipelines, grids of ranks.

What to look at: the valley between small buckets, each of which pays a latency, and a giant one,
which leaves when nothing is left to hide behind; colours that meet at an edge of matrices fit
together; white in a pipeline is a rank that waits; in a grid a colour is a node.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patches import Rectangle

from ddl_class.plots import frame
from ddl_class.plots.frame import BESIDE, Curves, Numbers, Series, counted, least, need, plane
from ddl_runtime.pictures.activity import Spans
from ddl_runtime.pictures.style import (
    INK,
    KIND_COLOURS,
    Look,
    Picture,
    Points,
    algorithm_colour,
    rank_colour,
)
from ddl_runtime.pictures.words import size_text, span, time_text, time_unit

EVERYBODY = "#dddddd"
DATA, MODEL = "#4477aa", "#ee6677"
WAYS = (DATA, MODEL, "#228833", "#ccbb44")
GAP, PLUS = 2.2, 0.28  # between matrices, and between the parts of a sum
CUTS = {"": "whole", "columns": "by columns", "rows": "by rows", "sum": "a sum of parts"}

PASSES: Mapping[str, tuple[str, str]] = {
    "F": ("forward", KIND_COLOURS["reduce"]),
    "B": ("backward", KIND_COLOURS["work"]),
    "I": ("backward, inputs", KIND_COLOURS["work"]),
    "W": ("backward, weights", "#b28f6b"),
}
WORD = re.compile(r"(\d+)([FBIW])(\d+)")  # stage, pass, micro-batch
MOST_ROWS_NUMBERED = 32

PARTS: Mapping[str, tuple[str, str]] = {
    "compute": ("computing", KIND_COLOURS["work"]),
    "bubble": ("the bubble", KIND_COLOURS["barrier"]),
    "pipeline": ("messages between stages", "#56b4e9"),
    "tensor": ("sums along tensor", "#e69f00"),
    "context": ("keys and values going round", "#cc79a7"),
    "data": ("averaging gradients", "#0072b2"),
}
"""What a step is spent on: its name for people, and its colour (Okabe and Ito)."""

Place = tuple[int, int, int, int]  # data, pipeline, tensor, context
Clocked = tuple[Numbers, Numbers, Numbers, Numbers]


def plot_bucket_sizes(
    predicted: Points,
    simulated: Points | None = None,
    measured: Clocked | None = None,
    *,
    backward: float,
) -> Picture:
    """Draw seconds over bytes of a bucket; `measured` also has the low and high ends of bars. The
    grey line is the backward pass alone: no way gets below it."""
    ax, colour = plane(height=4.2), algorithm_colour("ring")
    ax.axhline(backward, color="#999999", linewidth=1.2, label="backward pass alone")
    ax.draw_curve("predicted", predicted, colour, "predicted")
    ax.draw_curve("simulated", simulated, colour, "simulated")
    (sizes, times), takeaway = (np.asarray(part, float) for part in predicted), ""
    best = int(np.argmin(times))
    if measured:
        by_clock, middle, *interval = measured
        ax.draw_curve("measured", (by_clock, middle, interval), INK, "measured")
        ratio = float(np.median(np.asarray(middle) / np.interp(by_clock, sizes, times)))
        bars = dict(zip(by_clock, zip(*interval, strict=True), strict=True))
        alike = least(dict(zip(by_clock, middle, strict=True)), bars)
        takeaway = (
            f"Best measured: buckets of {span(alike, size_text)}, predicted: "
            f"{size_text(sizes[best])}; measured takes {ratio:.2g} times as long"
        )
    ax.scale_sizes_and_times("bucket (bytes)", "backward pass and averaging")
    bottom, top = ax.get_ylim()
    ax.set_ylim(min(bottom, backward * 0.8), top * 1.6)
    takeaway = takeaway or (
        f"Best by the formula: {size_text(sizes[best])}, {time_text(times[best])}; the smallest "
        f"take {times[0] / times[best]:.1f} times that, the largest {times[-1] / times[best]:.1f}"
    )
    above = {"loc": "upper center", "ncols": 4}
    return ax.finish("Time over the size of the buckets", takeaway, legend=above)


def plot_cuts(matrices: Sequence[tuple[str, int, int, str]], ranks: int, *, title: str) -> Picture:
    """Draw (name, height, width, cut) next to each other; the cut is one of

    "" on every rank, "columns" and "rows" a colour per rank, "sum" a part of the sum from each.
    """
    ax = plane(height=2.9)
    left, tallest = 0.0, max(height for _, height, _, _ in matrices)
    for name, height, width, cut in matrices:
        need(cut in CUTS, f'{name}: cut is "", "columns", "rows" or "sum", not {cut!r}')
        bottom = (tallest - height) / 2
        for part in range(ranks if cut else 1):
            x, y, w, h = left, bottom, float(width), float(height)
            if cut == "columns":
                x, w = left + part / ranks * width, width / ranks
            elif cut == "rows":
                y, h = bottom + height * (1 - (part + 1) / ranks), height / ranks
            elif cut == "sum":
                x, y = left + PLUS * part, bottom - PLUS * part
            colour = rank_colour(part) if cut else EVERYBODY
            ax.add_patch(Rectangle((x, y), w, h, facecolor=colour, edgecolor="white"))
        ax.text(left + width / 2, tallest + 0.5, name, ha="center", fontsize=11)
        left += width + GAP
    ax.set(xlim=(-0.5, left), ylim=(-1.6, tallest + 1.8), aspect="equal")
    ax.axis("off")
    words = "a colour is a rank, grey is on every rank, coloured sheets are to be added"
    ax.text(-0.4, -1.4, words, fontsize=9, color=INK)
    parts = ", ".join(f"{name} {CUTS[cut]}" for name, _, _, cut in matrices)
    return ax.finish(title, f"Matrices over {ranks} ranks: {parts}", title, grid="")


def plot_either_way(names: Sequence[str], weights: Numbers, activations: Numbers) -> Picture:
    """Draw, for each layer, how many numbers are summed by data and handed on by model."""
    ax = plane("numbers that go round the ring twice in a step", height=0.42 * len(names) + 1.6)
    places = np.arange(len(names))[::-1]
    ax.barh(places + 0.2, weights, 0.36, color=DATA, label="by data: weights")
    model = "by model: inputs of the batch"
    ax.barh(places - 0.2, activations, 0.36, color=MODEL, label=model)
    ax.set_xscale("log")
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0)
    less = np.sign(np.subtract(activations, weights)).tolist()
    takeaway = f"Layers that send less by data: {less.count(1)}; by model: {less.count(-1)}"
    if 0 in less:
        takeaway += f"; as much either way: {less.count(0)}"
    about = f"Numbers sent by each of {len(names)} layers"
    return ax.finish(about, takeaway, grid="x", legend="beside")


def plot_ways(
    axis: str,
    predicted: Curves | None = None,
    simulated: Curves | None = None,
    measured: Curves | None = None,
    *,
    title: str,
) -> Picture:
    """Draw times over what `axis` names, a colour a way, with (lows, highs) as a third part if
    known. Both axes are logarithmic."""
    ax = plane(axis, "time")
    given = {"predicted": predicted, "simulated": simulated, "measured": measured}
    grounds = {ground: curves for ground, curves in given.items() if curves}
    colours = ax.draw_all(grounds, WAYS, label="")
    *_, (places, *_) = (curve for curves in grounds.values() for curve in curves.values())
    ax.log_scale("x", base=2, at=places)
    ax.log_scale("y", time_text)
    ax.explain(colours, grounds)
    return ax.finish(f"Times over {axis} of {', '.join(colours)}", title)


def plot_pipeline(timeline: Spans, *, title: str) -> Picture:
    """Draw one step of a pipeline from the timeline of its run; a number is a micro-batch."""
    boxes = [
        (rank, word[2], word[3], span[2], span[3])
        for rank in range(timeline.ranks)
        for span in timeline.of(rank)
        if (word := WORD.fullmatch(span[0]))
    ]
    words = "this timeline has no passes of a pipeline: spans such as 0F3, stage 0 forward with "
    need(boxes, f"{words}micro-batch 3. Draw a run of `Worker`, with trace=True")
    columns = zip(*boxes, strict=False)
    rows, passes, micro_batches, starts, stops = (np.array(column) for column in columns)
    begun, length = starts.min(), stops.max() - starts.min()
    factor, unit = time_unit(length)
    ax = plane(f"time ({unit})", "rank", 1.5 + 0.33 * min(timeline.ranks, 20))
    begins, ends = (starts - begun) * factor, (stops - begun) * factor
    colours = [PASSES[letter][1] for letter in passes]
    line = 0.8 if len(boxes) < 2000 else 0.0
    look: Look = {"facecolors": colours, "linewidths": line}
    numbers = micro_batches if rows.max() < MOST_ROWS_NUMBERED else ()
    ax.draw_boxes(rows, begins, ends, words=numbers, reach=length * factor, **look)
    ax.set(xlim=(0, length * factor), ylim=(timeline.ranks - 0.5, -0.5))
    ax.set_yticks(range(0, timeline.ranks, -(-timeline.ranks // 16)))
    shown = dict(PASSES[letter] for letter in PASSES if letter in passes)
    ax.explain_colours(shown, **BESIDE, handlelength=1.2)
    idle = 1 - (stops - starts).sum() / (length * timeline.ranks)
    crew = counted(timeline.ranks, "rank")
    takeaway = f"{title}: {crew}, {length * factor:.4g} {unit}, {idle:.0%} idle"
    return ax.finish("Pipeline", takeaway, grid="", more="White is a rank that waits.")


def plot_step(bars: Sequence[tuple[str, str, float, float]], *, title: str) -> Picture:
    """Draw a step with messages beside its work: (row, words, begin, end) in ms."""
    names = list(dict.fromkeys(row for row, *_ in bars))
    rows = [names.index(row) for row, *_ in bars]
    kinds = ["send" if row else "work" for row in rows]
    words, begins, ends = zip(*(bar[1:] for bar in bars), strict=True)
    ax = plane("time (ms)", "", 1.9, 8.5)
    look: Look = {"facecolors": [KIND_COLOURS[kind] for kind in kinds]}
    ax.draw_boxes(rows, begins, ends, words=words, reach=max(ends), **look)
    ax.set(xlim=(0, max(ends)), ylim=(len(names) - 0.5, -0.5))
    ax.set_yticks(range(len(names)), names)
    takeaway = f"{title}: {max(ends):.4g} ms"
    return ax.finish("Step", takeaway, grid="", more="A number is a layer.")


def plot_idle(
    micro_batches: Sequence[int], formula: Numbers, simulated: Numbers, measured: Numbers
) -> Picture:
    """The share of time that ranks idle, over the number of micro-batches."""
    ax = plane("micro-batches", "idle", 3.8, 7.5)
    ax.draw_curve("formula", (micro_batches, formula), "#4477aa", "formula")
    ax.draw_curve("simulated", (micro_batches, simulated), "#222222", "simulated", markersize=9)
    ax.draw_curve("measured", (micro_batches, measured), "#ee6677", "measured")
    ax.log_scale("x", base=2)
    ax.in_percent("y")
    ax.set_ylim(0, 1)
    takeaway = (
        f"From {micro_batches[0]} to {micro_batches[-1]} micro-batches idle goes from "
        f"{formula[0]:.0%} to {formula[-1]:.0%} by the formula, {measured[0]:.0%} to "
        f"{measured[-1]:.0%} measured"
    )
    return ax.finish("Idle share over micro-batches", takeaway, legend={})


def plot_wait_and_memory(points: Mapping[str, tuple[float, float]], *, kept: str) -> Picture:
    """Schedules as points: the share of the time that ranks idle, and what is `kept`."""
    ax = plane("idle", kept, 4.4, 7.5)
    for place, (name, point) in enumerate(points.items()):
        look: Look = {"color": rank_colour(place), "markersize": 9, "label": name}
        ax.plot(*point, "osD^v"[place % 5], **look)
    ax.set_xlim(0, 1.1 * max(idle for idle, _ in points.values()))
    ax.set_ylim(0, 1.15 * max(most for _, most in points.values()))
    ax.in_percent("x")
    least = min(points, key=lambda name: points[name][::-1])
    fastest = min(points, key=lambda name: points[name])
    takeaway = f"{fastest} waits least, {least} keeps least, and no schedule does both"
    if fastest == least:
        takeaway = f"{fastest} waits least and keeps least"
    listed = "; ".join(
        f"{name}: idle {idle:.0%}, keeps {most:.3g}" for name, (idle, most) in points.items()
    )
    return ax.finish("Schedules", takeaway, legend="beside", more=f"{listed}.")


def plot_places(places: Sequence[Place], ranks_per_node: int, *, title: str) -> Picture:
    """Draw which rank sits where; rank r is at `places[r]` and on node r // ranks_per_node."""
    data, pipeline, tensor, context = (1 + max(axis) for axis in zip(*places, strict=True))
    ax = plane(
        "pipeline; inside a stage: tensor. A colour is a node",
        "data; inside a copy: context",
        1.3 + data * (0.45 * context + 0.3),
        1.6 + pipeline * (0.5 * tensor + 0.5),
    )
    wide, high = tensor + 1.0, context + 0.6
    for rank, (replica, stage, share, part) in enumerate(places):
        left, top = stage * wide + share, replica * high + part
        colour = rank_colour(rank // ranks_per_node)
        ax.add_patch(Rectangle((left, top), 0.94, 0.94, facecolor=colour, edgecolor="white"))
        ax.write(left + 0.47, top + 0.47, rank, on=colour, fontsize=8.5)
    ax.set(xlim=(-0.2, pipeline * wide - 0.8), ylim=(data * high - 0.4, -0.2))
    stages, copies = np.arange(pipeline), np.arange(data)
    ax.set_xticks(stages * wide + tensor / 2, [f"stage {stage}" for stage in stages])
    ax.set_yticks(copies * high + context / 2, [f"copy {replica}" for replica in copies])
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    words = (
        f"{len(places)} ranks: data {data}, pipeline {pipeline}, tensor {tensor}, context "
        f"{context}, {ranks_per_node} ranks a node"
    )
    return ax.finish(title, words, title, grid="")


def plot_shares(
    grids: Sequence[str], parts: Series, *, title: str, also: Series | None = None
) -> Picture:
    """Draw the seconds of a step on each grid, by what they are spent on.

    `parts` are named as in PARTS; `also` are whole steps from other sources, such as "simulated".
    """
    unknown = sorted(parts.keys() - PARTS.keys())
    words = f"parts of a step are {', '.join(PARTS)}, a number of seconds for each grid, and at "
    words += f"least one; not {', '.join(unknown) or 'nothing'}"
    need(grids and parts and not unknown, words)
    totals = np.sum([*parts.values()], axis=0)
    factor, unit = time_unit(max(totals))
    ax = plane(f"time of a step ({unit})", height=1.7 + 0.36 * len(grids))
    rows, left = range(len(grids)), np.zeros(len(grids))
    for name, (label, colour) in PARTS.items():
        if any(parts.get(name, ())):
            lengths = factor * np.asarray(parts[name])
            ax.barh(rows, lengths, 0.66, left, color=colour, label=label)
            left += lengths
    for name, times in (also or {}).items():
        edge = INK if name == "simulated" else "white"
        look: Look = {"markersize": 8, "markeredgecolor": edge, "markeredgewidth": 1.6}
        ax.draw_curve(name, (factor * np.asarray(times), rows), INK, name, **look)
    ax.name_rows(grids)
    ax.set_xlim(left=0)
    listed = "; ".join(
        f"{grid} {total * factor:.3g} {unit}" for grid, total in zip(grids, totals, strict=True)
    )
    legend = {**BESIDE, "bbox_to_anchor": (1.0, 1.0)}
    return ax.finish(title, f"Time of a step: {listed}", title, grid="", legend=legend)


def plot_one_training(losses: Mapping[str, Numbers], sent: Mapping[str, float]) -> Picture:
    """Draw the losses of one training by several ways over one another, the first one widest.
    Beside them stands what a rank has sent by each."""
    left, right = frame.panels(9.5, 1.8 + 0.3 * len(losses), columns=2)
    left.set(xlabel="step of training", ylabel="loss")
    for place, (name, curve) in enumerate(losses.items()):
        look: Look = {"color": rank_colour(place), "linewidth": 2 * (len(losses) - place)}
        left.plot(range(1, len(curve) + 1), curve, **look)
        right.barh(place, sent[name], 0.7, color=rank_colour(place))
        right.text(sent[name], place, f" {size_text(sent[name])}", va="center")
    right.set(xlabel="sent by a rank (bytes)", xticks=[])
    right.margins(x=0.25)
    right.name_rows(losses)
    first, *others = map(np.asarray, losses.values())
    apart = max((float(abs(curve - first).max()) for curve in others), default=0.0)
    takeaway = f"{counted(len(losses), 'loss curve')}, at most {apart:.0e} apart"
    listed = "; ".join(f"{name}: {size_text(nbytes)}" for name, nbytes in sent.items())
    about, more = "Losses over the steps of training", f"Sent by a rank: {listed}."
    return left.finish_all(about, takeaway, more=more)
