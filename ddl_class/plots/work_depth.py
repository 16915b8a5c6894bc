"""Work and depth: a graph by its levels, a schedule on processors, time between its bounds.

No schedule is faster than max(W / p, D), no greedy one slower than (W - D) / p + D; both bounds
bend at the average parallelism W / D. What to look at: how narrow the room between them is; in a
graph how wide the lower levels are; in a schedule where the white is: at the end of a sum fewer
and fewer have work.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.ticker import LogLocator, MaxNLocator

from ddl_class.plots.course import amount
from ddl_class.plots.frame import BESIDE, Numbers, Plane, need, plane
from ddl_runtime.pictures.style import INK, Look, Picture, rank_colour
from ddl_runtime.pictures.words import count_in_short, time_text, time_unit

BETWEEN, MEASURED, BOUND = "#e8eef5", "#ee6677", "#4477aa"


def plot_bounds(
    work: float,
    depth: float,
    simulated: Mapping[int, float],
    *,
    measured: Mapping[int, float] | None = None,
    unit: str = "steps",
) -> Picture:
    """Draw times by numbers of processors, simulated and measured, between both bounds.

    `unit` is "steps", or "s" where work, depth and times are in seconds.
    """
    need(
        0 < depth <= work, f"depth={depth} and work={work}: a chain is a part of the work, above 0"
    )
    times = {**(measured or {}), **simulated}
    need(times, "nothing to draw: give a time for at least one number of processors")
    in_seconds = unit == "s"
    text = time_text if in_seconds else (lambda time: f"{amount(time)} {unit}")
    ax = plane("processors", "time" if in_seconds else f"time ({unit})", 4.6)
    crew = np.geomspace(1, max(2, *times), 300)
    low, high = np.maximum(work / crew, depth), (work - depth) / crew + depth
    ax.fill_between(crew, low, high, color=BETWEEN, zorder=0)
    ax.plot(crew, high, color=BOUND, linestyle="--", label="no greedy schedule\nis above")
    ax.plot(crew, low, color=BOUND, label="no schedule is below")
    sentences = [f"Work {text(work)}, longest chain {text(depth)}."]
    for ground, given, colour, label, size in (
        ("simulated", simulated, INK, "simulated, greedy", 9),
        ("measured", measured, MEASURED, "measured", 6),
    ):
        if given:
            points = sorted(given.items())
            look: Look = {"markersize": size, "zorder": 4}
            ax.draw_curve(ground, [*zip(*points, strict=True)], colour, label, **look)
            listed = ", ".join(f"{text(time)} on {many:,}" for many, time in points)
            sentences.append(f"{ground.capitalize()}: {listed}.")
    bend, most = work / depth, max(times)
    if bend <= crew[-1]:
        ax.axvline(bend, color=INK, linewidth=1.0, linestyle=":")
        words = f"work / depth\n= {amount(bend)}"
        ax.note(words, (bend, high.max() * 1.3), (4, -2), va="top", fontsize=8.5)
    ax.log_scale("x", base=2)
    ax.xaxis.set_major_locator(LogLocator(base=4.0, numticks=20))
    few = high.max() < 300 * low.min()
    scale = time_text if in_seconds else count_in_short
    ax.log_scale("y", scale, subs=(1.0, 2.0, 5.0) if few else (1.0,))
    longest = max(high.max(), *simulated.values(), *(measured or {}).values())
    ax.set_ylim(low.min() / 1.5, longest * 1.5)
    takeaway = f"{most:,} processors are {amount(work / times[most])} times as fast as one"
    takeaway += f": there is work for {amount(bend)}" if most > bend else ""
    legend = {**BESIDE, "labelspacing": 1.0}
    return ax.finish("Time over processors", takeaway, legend=legend, more=" ".join(sentences))


def plot_layers(
    names: Sequence[str], work: Numbers, depth: Numbers, *, kinds: Sequence[str]
) -> Picture:
    """Draw layers by work and depth; along a diagonal the average parallelism is the same.

    `kinds` colours them; the names of the layers of least and most work stand beside them.
    """
    numbers = f"{len(names)} names, {len(work)} works and {len(depth)} depths"
    words = f"{numbers}: give one of each for every layer, and at least one layer"
    need(len(names) == len(work) == len(depth) > 0, words)
    across, upwards = np.asarray(depth, float), np.asarray(work, float)
    least = min(across.min(), upwards.min())
    need(least >= 1, "layers without an operation have no place here: leave them out")
    ax = plane("depth (steps)", "work (operations)", 4.8)
    for place, kind in enumerate(dict.fromkeys(kinds)):
        chosen = np.asarray(kinds) == kind
        look: Look = {"markersize": 7, "alpha": 0.85, "zorder": 3, "label": kind}
        ax.plot(across[chosen], upwards[chosen], "o", color=rank_colour(place), **look)
    ax.log_scale("x", count_in_short)
    ax.log_scale("y", count_in_short, subs=(1.0,))
    ax.set_xlim(across.min() / 2, across.max() * 3)
    ax.set_ylim(upwards.min() / 4, upwards.max() * 8)
    _draw_diagonals(ax)
    for extreme, above in ((int(upwards.argmax()), 7), (int(upwards.argmin()), -14)):
        ax.note(names[extreme], (across[extreme], upwards[extreme]), (6, above), fontsize=8.5)
    fold = (values.max() / values.min() for values in (upwards, across))
    wide, deep = (f"{times:,.0f}" if times >= 10 else f"{times:.2g}" for times in fold)
    takeaway = f"Work differs {wide}-fold from layer to layer, depth {deep}-fold"
    ratio = upwards / across
    more = (
        f"Depth {across.min():,.0f} to {across.max():,.0f}, work {upwards.min():.3g} to "
        f"{upwards.max():.3g}, average parallelism {ratio.min():,.3g} to {ratio.max():,.3g}."
    )
    return ax.finish("Layers by depth and work", takeaway, grid="", legend="beside", more=more)


def _draw_diagonals(ax: Plane) -> None:
    """Lines of one parallelism each, a factor of a thousand apart, named where they leave."""
    reach, (bottom, top) = np.array(ax.get_xlim()), ax.get_ylim()
    low, high = np.log10(bottom / reach[1]), np.log10(top / reach[0])
    for power in range(3 * int(np.ceil(low / 3)), int(high) + 1, 3):
        ax.plot(reach, 10.0**power * reach, ":", color="#9a9a9a", linewidth=1.0, zorder=1)
        leaves = min(reach[1], top / 10.0**power)
        if bottom < 10.0**power * leaves and leaves > 1.2 * reach[0]:
            look: Look = {"fontsize": 8, "color": "#666666", "ha": "right", "va": "top"}
            words = f"{count_in_short(10.0**power)} at once "
            ax.text(leaves, 10.0**power * leaves / 1.3, words, **look)


MOST_DRAWN = 200
ARROWS, CHAIN = "#b5b8bd", "#d55e00"


def plot_operation_graph(
    predecessors: Sequence[Sequence[int]],
    labels: Sequence[str] | None = None,
    *,
    title: str | None = None,
) -> Picture:
    """Draw for each operation its number, or its label, above those that it waits for."""
    many = len(predecessors)
    need(0 < many <= MOST_DRAWN, f"{many} operations: 1 up to {MOST_DRAWN} can be told apart")
    names = range(many) if labels is None else labels
    need(len(names) == many, f"{len(names)} labels for {many} operations: give one each")
    level = levels(predecessors)
    place = _places(predecessors, level)
    ax = plane("", "level (steps)", min(1.4 + 0.62 * level.max(), 7.5))
    # The longest chain: down from the highest level, always to an operation of the one below.
    chain = [int(level.argmax())]
    while predecessors[chain[-1]]:
        chain.append(max(predecessors[chain[-1]], key=lambda node: level[node]))
    steps = set(pairwise(chain[::-1]))
    arrows = [(before, node) for node, group in enumerate(predecessors) for before in group]
    for chosen, colour, width in ((False, ARROWS, 1.0), (True, CHAIN, 2.2)):
        lines = [(place[a], place[b]) for a, b in arrows if ((a, b) in steps) == chosen]
        ax.add_collection(LineCollection(lines, colors=colour, linewidths=width, zorder=1))
    widths = np.bincount(level)[1:]
    size = float(np.clip(4000 / widths.max() ** 1.15, 30, 330))
    colours = [CHAIN if node in chain else rank_colour(0) for node in range(many)]
    ax.scatter(place[:, 0], place[:, 1], size, colours, zorder=2)
    if size > 90:
        for name, (x, y) in zip(names, place, strict=True):
            ax.write(x, y, name, color="white", fontsize=0.6 * size**0.5, zorder=3)
    ax.set(xlim=(-0.04, 1.04), ylim=(0.4, level.max() + 0.6), xticks=[])
    ax.spines["bottom"].set_visible(False)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    takeaway = f"{many} operations, and the longest chain has {level.max()}"
    more = f"Operations on each level, the first first: {', '.join(map(str, widths))}."
    return ax.finish("Graph by levels", takeaway, title, grid="", more=more)


def levels(predecessors: Sequence[Sequence[int]]) -> np.ndarray:
    """One more than the highest level among those an operation waits for."""
    level = np.zeros(len(predecessors), int)
    for _ in range(len(predecessors) + 1):
        above = [1 + max((level[b] for b in group), default=0) for group in predecessors]
        if (level == above).all():
            return level
        level = np.array(above)
    raise ValueError("predecessors hold a circle: an operation would wait for itself")


def _places(predecessors: Sequence[Sequence[int]], level: np.ndarray) -> np.ndarray:
    """Across: the first level in order, each other operation above the middle of what it needs."""
    across = np.zeros(len(level))
    for height in range(1, level.max() + 1):
        row = np.flatnonzero(level == height)
        wanted = [
            across[[*predecessors[node]]].mean() if predecessors[node] else node / len(level)
            for node in row.tolist()
        ]
        order = row[np.argsort(np.array(wanted), kind="stable")]
        across[order] = (np.arange(len(row)) + 0.5) / len(row)
    return np.stack([across, level], axis=1)


MOST_PROCESSORS = 64
MOST_NUMBERED = 120  # operations whose number stands in their box
MARGIN = 0.04  # of a step, left and right of a box


def plot_schedule(
    start: Numbers, duration: Numbers, processor: Sequence[int], processors: int, *,
    kinds: Sequence[str] | None = None, depth: float | None = None, unit: str = "steps",
    title: str | None = None,
) -> Picture:  # fmt: skip
    """Draw when each operation begins, how long it takes, and which processor runs it.

    `kinds` says what each operation is, which colours it; `depth` is the longest chain. `unit` is
    "steps", or "s" for times in seconds.
    """
    begins, lengths = np.asarray(start, float), np.asarray(duration, float)
    rows = np.asarray(processor, int)
    words = f"{len(begins)} starts, {len(lengths)} durations and {len(rows)} processors: give one "
    need(
        len(begins) == len(lengths) == len(rows) > 0, f"{words}of each for at least one operation"
    )
    words = f"processors={processors}: up to {MOST_PROCESSORS} can be drawn, and more than the "
    need(
        max(rows) < processors <= MOST_PROCESSORS, f"{words}{max(rows)} on which operations stand"
    )
    end = float((begins + lengths).max())
    factor, name = (1.0, unit) if unit == "steps" else time_unit(end)
    begins, lengths, end = begins * factor, lengths * factor, end * factor
    ax = plane(f"time ({name})", "processor", 1.5 + 0.3 * min(processors, 24))
    kinds = ["operation"] * len(rows) if kinds is None else list(kinds)
    colours = {kind: rank_colour(place) for place, kind in enumerate(dict.fromkeys(kinds))}
    fill, gap = [colours[kind] for kind in kinds], MARGIN * lengths.min()
    left, right = begins + gap, begins + lengths - gap
    numbers = range(len(rows)) if len(rows) <= MOST_NUMBERED else ()
    ax.draw_boxes(rows, left, right, words=numbers, reach=end, facecolors=fill, linewidths=0)
    longest = ""
    if depth is not None:
        ax.axvline(depth * factor, color=INK, linestyle=":", linewidth=1.2)
        ax.note("longest chain", (depth * factor, -0.5), (4, 3), fontsize=8.5)
        longest = f"Its longest chain takes {depth * factor:.4g} {name}."
    ax.set_xlim(0, 1.02 * end)
    ax.set_ylim(processors - 0.5, -0.9 if depth is not None else -0.5)
    ax.set_yticks(range(0, processors, -(-processors // 16)))
    if unit == "steps":
        ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    if len(colours) > 1:
        ax.explain_colours(colours, **BESIDE, handlelength=1.2)
    crew = "one processor" if processors == 1 else f"{processors} processors"
    idle = 1 - float(lengths.sum()) / (end * processors)
    takeaway = f"{len(rows):,} operations on {crew}: {end:.4g} {name}, and {idle:.0%} idle"
    return ax.finish("Schedule", takeaway, title, grid="", more=longest)
