"""Memory: time against workspace, what a limit makes of a batch, and what a rank keeps.

A front of workspace is a staircase: the bytes at a step buy the time below it. A bar is the memory
that a rank keeps; a curve over time rises while a forward pass keeps activations and falls as the
backward pass uses them. What to look at: how few steps a staircase has, which method each limit
brings, and how high a curve is, not how long.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import MultipleLocator

from ddl_class.plots.convolutions import METHOD_COLOURS, method_colour, method_name
from ddl_class.plots.frame import Numbers, Plane, Series, counted, need, plane
from ddl_runtime.pictures.style import INK, Look, Picture
from ddl_runtime.pictures.words import size_text, time_text

LIMIT_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44")
LEAST = 2**10  # bytes; what needs less is drawn there, as a logarithmic axis has no zero
FEW = 48  # pieces up to which each is drawn with its edges


def plot_front(
    workspace: Numbers, seconds: Numbers, whole: Mapping[str, tuple[float, float]]
) -> Picture:
    """Draw a front, and other points as (workspace, seconds): `whole` batches by method."""
    words = "a front needs at least one point, and as many seconds as workspaces"
    need(0 < len(workspace) == len(seconds), words)
    order = np.argsort(workspace)
    sizes, times = np.asarray(workspace, float)[order], np.asarray(seconds, float)[order]
    drawn = np.maximum(sizes, LEAST)
    ax = plane(height=4.2)
    far = 1.6 * max(sizes[-1], *(size for size, _ in whole.values()), 0.0)
    ax.step([*drawn, far], [*times, times[-1]], where="post", color=INK, linewidth=1.4)
    ax.plot(drawn, times, "o", color=INK, markersize=4.5, label="can be best")
    for method, (size, time) in whole.items():
        look: Look = {"markersize": 9, "markerfacecolor": "none", "markeredgewidth": 2}
        name = f"whole, {method_name(method)}" if method in METHOD_COLOURS else method
        ax.plot(max(size, LEAST), time, "s", color=method_colour(method), label=name, **look)
    ax.scale_sizes_and_times("workspace (bytes)", "time")
    takeaway = (
        f"{time_text(times[0])} in {size_text(sizes[0])} to {time_text(times[-1])} in "
        f"{size_text(sizes[-1])}"
    )
    none_before = np.append(np.inf, np.minimum.accumulate(times)[:-1])
    useless = int((times >= none_before).sum())
    below = [name for name, (s, t) in whole.items() if t < min(times[sizes <= s], default=0)]
    if below:
        takeaway = f"{below[0]} is below the line, so it is not beaten"
    elif useless:
        takeaway = f"{useless} of {len(sizes)} divisions are beaten by one that needs no more"
    else:
        takeaway = f"{counted(len(sizes), 'division')} can be best: {takeaway}"
    points = ", ".join(
        f"{method_name(method)} {time_text(time)} in {size_text(size)}"
        for method, (size, time) in whole.items()
    )
    more = f"Whole batches by one method: {points}." if points else ""
    return ax.finish("Time over workspace", takeaway, legend="beside", more=more)


def plot_limits(
    limits: Numbers, predicted: Series, measured: Series | None = None, *, title: str
) -> Picture:
    """Draw times over the limit: lines are predicted, dots measured; nan where nothing fits."""
    ax = plane(height=4.2)
    grounds = {
        ground: {name: (limits, times) for name, times in curves.items()}
        for ground, curves in (("predicted", predicted), ("measured", measured or {}))
    }
    ax.draw_all(grounds, LIMIT_COLOURS)
    ax.scale_sizes_and_times("limit of the workspace (bytes)", "time")
    listed = []
    for ground, curves in grounds.items():
        for name, (_, times) in curves.items():
            there = np.flatnonzero(np.isfinite(times))
            listed += [
                f"{name}, {ground}: {time_text(times[k])} in {size_text(limits[k])}"
                for k in dict.fromkeys([*there[:1], *there[-1:]])
            ]
    about, more = "Time over the limit of the workspace", f"{'; '.join(listed)}."
    return ax.finish(about, title, legend="beside", more=more)


def plot_divisions(divisions: Mapping[str, Sequence[tuple[str, int]]], *, title: str) -> Picture:
    """Draw a row for each division, by its name: its pieces as (method, examples)."""
    need(divisions, "no division was given")
    ax = plane("examples of the batch", height=1.2 + 0.4 * len(divisions))
    most = max(sum(size for _, size in parts) for parts in divisions.values())
    for row, parts in enumerate(divisions.values()):
        few, start = len(parts) <= FEW, 0
        edge: Look = {"edgecolor": "white", "linewidth": 1.2} if few else {}
        for method, size in parts:
            ax.barh(row, size, 0.72, start, color=method_colour(method), **edge)
            if few and size >= most / 20:
                ax.write(start + size / 2, row, size, color="white", fontsize=10)
            start += size
        if not few:
            sizes = Counter(size for _, size in parts)
            words = ", ".join(f"{count} pieces of {size}" for size, count in sizes.items())
            ax.write(start / 2, row, words, color="white", fontsize=10)
    ax.set_xlim(0, most)
    ax.name_rows(divisions)
    methods = dict.fromkeys(method for parts in divisions.values() for method, _ in parts)
    ax.explain_colours({method_name(method): method_colour(method) for method in methods})
    rows = "; ".join(
        f"{name}: {', '.join(f'{method_name(method)} of {size}' for method, size in parts)}"
        for name, parts in divisions.items()
    )
    return ax.finish(title, rows, title, grid="")


KINDS: Mapping[str, str] = {
    "weights": "#4477aa",
    "gradients": "#ccbb44",
    "states": "#ee6677",
    "activations": "#66ccee",
}
CURVES = ("#4477aa", "#ee6677", "#228833", "#aa3377", "#ccbb44")
Points = Sequence[tuple[float, float]]
Pairs = Mapping[str, Points]


def plot_held(
    rows: Mapping[str, Mapping[str, float]],
    marks: Mapping[str, float] | None = None,
    *,
    simulated: Mapping[str, float] | None = None,
    title: str,
) -> Picture:
    """Draw a bar for each row, of its bytes by kind; `marks` are totals by formula to lay over it,
    `simulated` are those of simulated ranks."""
    need(rows, "no row of memory was given")
    ax = plane("memory of one rank (bytes)", height=1.3 + 0.42 * len(rows))
    kinds = [kind for kind in KINDS if any(row.get(kind) for row in rows.values())]
    ends = np.zeros(len(rows))
    for kind in kinds:
        held = [row.get(kind, 0) for row in rows.values()]
        ax.barh(range(len(rows)), held, 0.7, ends, color=KINDS[kind], label=kind)
        ends += held
    for place, (name, end) in enumerate(zip(rows, ends, strict=True)):
        totals = [end, simulated[name]] if simulated and name in simulated else [end]
        ax.text(max(totals), place, f"   {', □ '.join(map(size_text, totals))}", va="center")
        if marks and name in marks:
            label = "formula" if name == next(iter(marks)) else None
            ax.plot([marks[name]] * 2, [place - 0.42, place + 0.42], color="black", label=label)
    if simulated:
        places = [*rows]
        ys = [places.index(name) for name in simulated]
        ax.draw_curve("simulated", ([*simulated.values()], ys), INK, "simulated")
    ax.margins(x=0.45 if simulated else 0.16)
    ax.name_rows(rows)
    _count_in_binary(ax)
    listed = "; ".join(
        f"{name}: " + ", ".join(f"{kind} {size_text(row.get(kind, 0))}" for kind in kinds)
        for name, row in rows.items()
    )
    about, more = "Memory of one rank as bars", f"{listed}."
    return ax.finish(about, title, grid="", legend="beside", more=more)


def plot_over_time(curves: Series, *, title: str) -> Picture:
    """Draw what is held after each layer that is computed, a curve for each plan."""
    need(curves, "no curve was given")
    ax = plane("layers computed so far, forward and backward", "activations held", 3.6)
    for place, (name, held) in enumerate(curves.items()):
        look: Look = {"color": CURVES[place % len(CURVES)], "where": "mid"}
        ax.step(range(1, len(held) + 1), held, label=name, **look)
    ax.set_ylim(bottom=0)
    listed = "; ".join(
        f"{name}: at most {max(held):g}, over {len(held)} layers computed"
        for name, held in curves.items()
    )
    return ax.finish("Activations held over time", title, legend="beside", more=f"{listed}.")


def plot_held_over_time(curves: Mapping[str, Points], *, room: float, title: str) -> Picture:
    """Draw the bytes held over the seconds of a step, a curve for each plan, and the room."""
    need(curves, "no curve was given")
    ax, highest = plane("time (ms)", "held (GB)", 3.6), []
    for place, (name, points) in enumerate(curves.items()):
        times, held = zip(*points, strict=True)
        highest.append(f"{name}: at most {max(held) / 1e9:.1f} GB")
        look: Look = {"color": CURVES[place % len(CURVES)], "where": "post"}
        ax.step([1e3 * time for time in times], [n / 1e9 for n in held], label=name, **look)
    ax.axhline(room / 1e9, color=INK, linestyle="--", label="room")
    ax.set_ylim(bottom=0)
    listed = f"{'; '.join(highest)}; room for {room / 1e9:.1f} GB."
    return ax.finish("Memory over a step", title, legend="beside", more=listed)


def plot_tradeoff(curves: Pairs, measured: Pairs, *, title: str) -> Picture:
    """Draw layers computed over bytes held: lines are formulas, dots are `measured`."""
    ax = plane("activations held at most (bytes)", "layers computed forward", 3.8)
    grounds = {
        ground: {name: tuple(zip(*sorted(pairs), strict=True)) for name, pairs in points.items()}
        for ground, points in (("formula", curves), ("measured", measured))
    }
    ax.draw_all(grounds, CURVES)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    _count_in_binary(ax)
    listed = "; ".join(
        f"{name}, {ground}: {computed[0]:g} layers in {size_text(held[0])} to {computed[-1]:g} in "
        f"{size_text(held[-1])}"
        for ground, points in grounds.items()
        for name, (held, computed) in points.items()
    )
    return ax.finish("Computation over memory", title, legend="beside", more=f"{listed}.")


def _count_in_binary(ax: Plane) -> None:
    """Ticks at whole powers of two of bytes, so that their labels are short."""
    step = 2.0 ** np.ceil(np.log2(max(ax.get_xlim()[1], 1.0) / 8))
    ax.xaxis.set_major_locator(MultipleLocator(step))
    ax.write_axis("x", size_text)
