"""Messages between devices: their time over the chunk's size and over their own size.

What to look at: the valley over the chunk's size, between the pipe's filling and the price of a
start for each chunk; the words that say on what a run was recorded; and in rows of kernels, copies
and messages those that are busy at the same time.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.ticker import LogLocator

from ddl_class.plots.frame import LABEL, Name, Plane, least, listed, need, panels, plane
from ddl_runtime.pictures.activity import Spans
from ddl_runtime.pictures.style import INK, KIND_COLOURS, Look, Picture, Points
from ddl_runtime.pictures.words import rate_text, size_text, span, time_text, time_unit

Interval = tuple[float, float, float]
"""A median and the two ends of its interval."""

Measured = Mapping[float, Interval]
"""By size in bytes: seconds."""

NOTHING_RECORDED = (
    "No run on a GPU has been recorded yet.\n"
    "If you have a GPU: .venv/bin/python -m benchmarks.on_a_gpu"
)
PATH_COLOURS: Mapping[str, str] = {
    "host": "#555555",
    "direct": "#228833",
    "staged": "#ee6677",
    "pipelined": "#4477aa",
    "once": "#aa3377",
    "steps": "#b15928",
    "native": "#ccbb44",
    "gloo": "#66ccee",
    "NCCL": "#222255",
}
DOTS: Look = {"markersize": 5, "linewidth": 1.0, "zorder": 4}

STREAM_COLOURS: Mapping[str, str] = {
    "kernel": KIND_COLOURS["work"],
    "copy out": "#cc79a7",
    "send": KIND_COLOURS["send"],
    "recv": KIND_COLOURS["recv"],
    "copy in": "#882255",
}
NAMES = {"send": "on the wire", "recv": "wait, receive"}
STAGES = ("copy out", "send", "copy in")
ON_DEVICE = ("kernel", "copy out", "copy in")
MOST_NUMBERS = 12  # chunks that are numbered
LETTER = 0.02  # of the picture: a bar must be as wide to carry a number
HEIGHT = 0.62


def plot_chunk_sizes(
    computed: Points, *, nbytes: float, best: float | None = None, simulated: Points | None = None,
    measured: Measured | None = None, others: Mapping[str, float] | None = None, label: str = "",
) -> Picture:  # fmt: skip
    """Draw the time of one message of `nbytes` over the size of its chunks.

    `best` is the size that the formula recommends; `others` are times of paths without chunks,
    drawn across; `label` says on what it was measured.
    """
    ax, colour = plane(height=4.2), PATH_COLOURS["pipelined"]
    ax.draw_curve("computed", computed, colour, "computed")
    ax.draw_curve("simulated", simulated, INK, "simulated", zorder=3)
    chunk = size_text(computed[0][int(np.argmin(computed[1]))])
    takeaway = f"Least time for {size_text(nbytes)}: chunks of {chunk} by the formula"
    if measured:
        ax.draw_curve("measured", _curve(measured), colour, "measured", **DOTS)
        takeaway += f", of {span(_quickest_of(measured), size_text)} measured"
    for name, seconds in (others or {}).items():
        ax.axhline(seconds, color=path_colour(name), linestyle="--", linewidth=1.2, label=name)
    if best is not None:
        ax.mark(best, f"best: {size_text(best)}")
    ax.scale_sizes_and_times("size of a chunk (bytes)", f"time of {size_text(nbytes)}")
    return _finish(ax, takeaway, label)


def plot_paths(
    measured: Mapping[str, Measured],
    *,
    bandwidth: bool = False,
    label: str = "",
    title: str | None = None,
    ax: Plane | None = None,
) -> Picture:
    """Draw the time of a message over its size, a colour for each path, by name.

    With `bandwidth` bytes a second are drawn in place of seconds.
    """
    need(measured, "nothing to draw: give the measured times of a path")
    names = list(measured)
    ax = plane(height=4.4) if ax is None else ax
    for name in names:
        sizes, times, interval = _curve(measured[name])
        rates = [np.divide(sizes, part) if bandwidth else part for part in (times, interval)]
        colour = path_colour(name, names)
        ax.draw_curve("measured", (sizes, *rates), colour, **{**DOTS, "linestyle": "-"})
        ax.plot([], [], color=colour, label=name)
    ax.scale_sizes_and_times("size of one message (bytes)", "time of one message")
    if bandwidth:
        ax.log_scale("y", rate_text)
        ax.set_ylabel("bandwidth")
    return _finish(ax, _quickest(measured, bandwidth), label, title)


def plot_recorded(
    yours: Mapping[str, Measured], recorded: Mapping[str, Mapping[str, Measured]], *, label: str
) -> Picture:
    """Draw what you measured and, beside it on the same scale, each recorded run under its label.

    The labels say on what: host memory, a stand-in, or a GPU with its date.
    """
    runs = {f"yours: {label}": yours, **recorded}
    columns = max(2, len(runs))
    axes = panels(4.6 * columns, 4.4, columns=columns, sharex=True, sharey=True)
    for ax, (words, measured) in zip(axes, runs.items(), strict=False):
        plot_paths(measured, ax=ax, title="")
        ax.legend(loc="best", fontsize=8)
        ax.xaxis.set_major_locator(LogLocator(base=16.0, numticks=20))
        ax.set_title(words, size=9, weight="normal", style="italic", color=LABEL)
    if not recorded:
        axes[1].set_axis_off()
        here: Look = {"transform": axes[1].transAxes, "color": LABEL, "fontsize": 10}
        axes[1].write(0.5, 0.5, NOTHING_RECORDED, **here)
    for ax in axes[1:]:
        ax.set_ylabel("")
    more = f"Beside it: {'; '.join(recorded) or NOTHING_RECORDED}"
    takeaway = f"Yours, {_quickest(yours)}"
    return axes[0].finish_all("Your run beside recorded ones", takeaway, more=more)


def path_colour(name: str, among: Sequence[str] = ()) -> tuple[float, ...]:
    """A path's colour; of several with the same path, such as chunk sizes, each its own shade."""
    path = name.partition(",")[0]
    same = [other for other in among if other.partition(",")[0] == path]
    pale = 0.75 * same.index(name) / len(same) if name in same else 0.0
    return tuple(part + pale * (1 - part) for part in to_rgb(PATH_COLOURS.get(path, INK)))


def _quickest(measured: Mapping[str, Measured], bandwidth: bool = False) -> str:
    """Which is the fastest at the smallest and at the largest size with a rival, in one line."""
    sizes = sorted({size for times in measured.values() for size in times})
    rivals = {size: [name for name in measured if size in measured[name]] for size in sizes}
    alone = len(measured) == 1
    met = [size for size in sizes if alone or len(rivals[size]) > 1]
    if not met:
        return "Paths that were not measured at the same sizes"
    parts = []
    for size in dict.fromkeys((met[0], met[-1])):
        names = _quickest_of({name: measured[name][size] for name in rivals[size]})
        seconds = min(measured[name][size][0] for name in names)
        value = rate_text(size / seconds) if bandwidth else time_text(seconds)
        who = f"{listed(names)} {'is' if len(names) == 1 else 'are'} fastest, "
        parts.append(f"{size_text(size)}: {'' if alone else who}{value}")
    return "; ".join(parts)


def _quickest_of(times: Mapping[Name, Interval]) -> list[Name]:
    """The names whose time is least, within the intervals."""
    middles = {name: middle for name, (middle, *_) in times.items()}
    return least(middles, {name: (low, high) for name, (_, low, high) in times.items()})


def _curve(measured: Measured) -> tuple[Any, ...]:
    """Sizes, medians, and the ends of their intervals."""
    middle, *ends = np.array([*measured.values()]).T
    return [*measured], middle, np.array(ends)


def _finish(ax: Plane, takeaway: str, label: str, title: str | None = None) -> Picture:
    """Title, legend, and the words that say on what it was measured."""
    shown = (takeaway if title is None else title) + ("\n" if label else "")
    if label:
        ax.name_ground(label)
    about = "Messages between devices"
    return ax.finish(about, takeaway, shown, legend="beside", more=label)


def plot_copies(timeline: Spans, *, title: str | None = None) -> Picture:
    """Draw a run on few ranks: kernels, copies and messages, until the last of these has come, a
    row for each thing that a rank and its device do. Chunks of one message are numbered; copies
    that end after their rank's program, which waits for none of them, are hatched."""
    of_kinds = {
        (rank, kind): sorted((span[2], span[3]) for span in timeline.of(rank) if span[1] == kind)
        for rank in range(timeline.ranks)
        for kind in STREAM_COLOURS
    }
    bars = {row: spans for row, spans in of_kinds.items() if spans}
    need(bars, "no kernel, copy or message is on this timeline: was trace=False?")
    moving = [span for (_, kind), spans in bars.items() if kind in STAGES for span in spans]
    # A kernel that goes on behind the last copy is cut off: the message is what is looked at.
    spans_shown = moving or [span for spans in bars.values() for span in spans]
    end = max(last for _, last in spans_shown)
    factor, unit = time_unit(end)
    ax = plane(f"time ({unit})", height=1.3 + 0.34 * len(bars))
    names = [f"rank {rank}: {NAMES.get(kind, kind)}" for rank, kind in bars]
    for row, ((rank, kind), spans) in enumerate(bars.items()):
        pieces = [(first * factor, (last - first) * factor) for first, last in spans]
        look: Look = {"facecolor": STREAM_COLOURS[kind], "edgecolor": "white"}
        own = [span[3] for span in timeline.of(rank) if span[1] not in ON_DEVICE]
        if kind in ON_DEVICE[1:] and spans[-1][1] > max(own, default=0.0) * (1 + 1e-9):
            look["hatch"] = "//"
            names[row] += "\n(not waited for)"
        ax.broken_barh(pieces, (row - HEIGHT / 2, HEIGHT), **look)
        narrowest = min(width for _, width in pieces)
        if kind in STAGES and 1 < len(spans) <= MOST_NUMBERS and narrowest > LETTER * end * factor:
            for number, (first, width) in enumerate(pieces):
                ax.write(first + width / 2, row, number, color="white", fontsize=10)
    ax.set_yticks(range(len(bars)), names)
    ranks = [rank for rank, _ in bars]
    for row in np.flatnonzero(np.diff(ranks)).tolist():
        ax.axhline(row + 0.5, color=INK, linewidth=0.6)
    ax.invert_yaxis()
    ax.set_xlim(0, end * factor * 1.01)
    takeaway = "Nothing is copied and nothing is sent"
    if moving:
        whole, busy = end - min(first for first, _ in moving), busy_at_once(moving)
        together = f"{busy / whole:.0%} of it" if busy else "never"
        takeaway = f"{time_text(whole)} from device to device; several stages at once: {together}"
    who = " and ".join(f"rank {rank}" for rank in dict.fromkeys(ranks))
    about = f"Kernels, copies and messages of {who} over time"
    return ax.finish(about, takeaway, title, grid="")


def busy_at_once(spans: Sequence[tuple[float, float]]) -> float:
    """Seconds in which at least two of these spans lie over each other."""
    edges = sorted([(first, 1) for first, _ in spans] + [(last, -1) for _, last in spans])
    total, active, before = 0.0, 0, edges[0][0]
    for moment, change in edges:
        total += (moment - before) * (active > 1)
        active, before = active + change, moment
    return total
