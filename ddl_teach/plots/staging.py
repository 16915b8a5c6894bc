"""Messages between devices: their time over the chunk's size, over their own size, and who reigns.

Lines are computed, hollow squares simulated, dots measured: medians with their 95% intervals. What
to look at: the valley over the chunk's size, whose two slopes are the pipe's filling and the price
of a start for each chunk; and in pictures of recorded runs the words that say on what they ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.style import (
    INK,
    Picture,
    Points,
    describe,
    in_style,
    new_axes,
    rate_text,
    scale_sizes_and_times,
    size_text,
    time_text,
)

Interval = tuple[float, float, float]
"""A median and the two ends of its interval."""

Measured = Mapping[float, Interval]
"""By size in bytes: seconds."""

LABEL = "#aa3377"
NOTHING_RECORDED = (
    "No run on a GPU has been recorded yet.\nWhoever has one: python -m benchmarks.on_a_gpu"
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


@in_style
def plot_chunk_sizes(
    computed: Points,
    *,
    nbytes: float,
    best: float | None = None,
    simulated: Points | None = None,
    measured: Measured | None = None,
    others: Mapping[str, float] | None = None,
    label: str = "",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the time of one message of `nbytes` over the size of its chunks.

    `best` is the size that the formula recommends; `others` are times of paths without chunks,
    drawn across; `label` says on what it was measured.
    """
    ax = new_axes(9.0, 4.2) if ax is None else ax
    colour = PATH_COLOURS["pipelined"]
    ax.plot(*computed, color=colour, label="computed")
    if simulated is not None:
        ax.plot(*simulated, "s", color=INK, markerfacecolor="none", label="simulated", zorder=3)
    found = f"{size_text(nbytes)} in chunks of {_valley(*computed)} take least by the formula"
    if measured:
        _dots(ax, measured, colour, "measured", "o")
        middle = [one[0] for one in measured.values()]
        found += f", of {_valley(list(measured), middle)} measured"
    for name, seconds in (others or {}).items():
        ax.axhline(seconds, color=path_colour(name), linestyle="--", linewidth=1.2, label=name)
    if best is not None:
        ax.axvline(best, color=INK, linestyle=":", linewidth=1.2)
        ax.annotate(f"best: {size_text(best)}", (best, 0.97), (4, 0), va="top",
                    xycoords=("data", "axes fraction"), textcoords="offset points")  # fmt: skip
    scale_sizes_and_times(ax, "size of a chunk (bytes)", f"time of {size_text(nbytes)}")
    _finish(ax, found, label, title)
    return ax.figure


@in_style
def plot_paths(
    computed: Mapping[str, Points] | None = None,
    *,
    simulated: Mapping[str, Points] | None = None,
    measured: Mapping[str, Measured] | None = None,
    crossovers: Mapping[str, float] | None = None,
    bandwidth: bool = False,
    label: str = "",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the time of a message over its size, a colour for each path, by name.

    `crossovers` are sizes to mark, each with its words. With `bandwidth` bytes a second are drawn
    in place of seconds.
    """
    grounds = computed or {}, simulated or {}, measured or {}
    names = list(dict.fromkeys(name for ground in grounds for name in ground))
    if not names:
        raise ValueError("nothing to draw: give computed, simulated or measured times of a path")
    ax = new_axes(9.0, 4.4) if ax is None else ax
    colours = {name: path_colour(name, names) for name in names}
    for name, (sizes, times) in grounds[0].items():
        ax.plot(sizes, _shown(sizes, times, bandwidth), color=colours[name])
    for name, (sizes, times) in grounds[1].items():
        look = {"color": colours[name], "markerfacecolor": "none"}
        ax.plot(sizes, _shown(sizes, times, bandwidth), "s", **look)
    for name, found in grounds[2].items():
        rows = {size: _shown(size, np.array(one), bandwidth) for size, one in found.items()}
        _dots(ax, rows, colours[name], None, "o-" if name not in grounds[0] else "o")
    for name in names:
        ax.plot([], [], color=colours[name], label=name)
    for words, size in (crossovers or {}).items():
        ax.axvline(size, color=INK, linestyle=":", linewidth=1.2)
        ax.annotate(f"{words}\n{size_text(size)}", (size, 0.02), (4, 0), fontsize=8.5,
                    xycoords=("data", "axes fraction"), textcoords="offset points")  # fmt: skip
    scale_sizes_and_times(ax, "size of one message (bytes)", "time of one message")
    if bandwidth:
        ax.set_ylabel("bandwidth")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: rate_text(rate)))
    found = quickest({name: _medians(name, grounds) for name in names}, bandwidth)
    _finish(ax, found, label, title)
    return ax.figure


@in_style
def plot_decisions(
    tables: Mapping[str, Sequence[tuple[float, str]]],
    *,
    largest: float,
    smallest: float = 1024,
    label: str = "",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a bar for each table: from which size on which path is taken, (begin, name) each."""
    ax = new_axes(9.0, 1.5 + 0.55 * len(tables)) if ax is None else ax
    for row, reigns in enumerate(tables.values()):
        ends = [begin for begin, _ in reigns[1:]] + [largest]
        for (begin, name), end in zip(reigns, ends, strict=True):
            begin = max(begin, smallest)
            if end <= begin:
                continue
            ax.barh(row, end - begin, left=begin, height=0.7, color=path_colour(name),
                    edgecolor="white", linewidth=1.5)  # fmt: skip
            words = name.partition(", ")[2]  # the path is known by its colour
            ax.text(np.sqrt(begin * end), row, words, ha="center", va="center", color="white",
                    fontsize=7.5, clip_on=True)  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_xlim(smallest, largest)
    ax.xaxis.set_major_locator(LogLocator(base=16.0, numticks=20))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks(range(len(tables)), list(tables))
    ax.invert_yaxis()
    ax.set_xlabel("size of one message (bytes)")
    found = "; ".join(f"{name}: {_in_words(reigns)}" for name, reigns in tables.items())
    paths = dict.fromkeys(
        name.partition(",")[0] for reigns in tables.values() for _, name in reigns
    )
    for path in paths:
        ax.plot([], [], "s", color=path_colour(path), markersize=9, label=path)
    _finish(ax, found, label, title)
    return ax.figure


@in_style
def plot_recorded(
    yours: Mapping[str, Measured],
    recorded: Mapping[str, Mapping[str, Measured]],
    *,
    label: str,
    bandwidth: bool = False,
    title: str | None = None,
) -> Figure:
    """Draw what you measured and, beside it on the same scale, each recorded run under its label.

    The labels say on what: host memory, a stand-in, or a GPU with its date.
    """
    panels = {f"yours: {label}": yours, **recorded}
    figure = Picture(figsize=(4.6 * max(2, len(panels)), 4.4))
    axes = figure.subplots(1, max(2, len(panels)), sharex=True, sharey=True)
    for ax, (words, measured) in zip(axes, panels.items(), strict=False):
        plot_paths(measured=measured, bandwidth=bandwidth, ax=ax, title="")
        ax.legend(loc="best", fontsize=8)
        ax.xaxis.set_major_locator(LogLocator(base=16.0, numticks=20))
        ax.set_title(words, size=9, weight="normal", style="italic", color=LABEL)
    if not recorded:
        axes[1].set_axis_off()
        axes[1].text(0.5, 0.5, NOTHING_RECORDED, ha="center", va="center", color=LABEL,
                     transform=axes[1].transAxes)  # fmt: skip
    for ax in axes[1:]:
        ax.set_ylabel("")
    found = f"Yours, {quickest(_middles(yours), bandwidth)}" if title is None else title
    figure.suptitle(found, x=0.01, ha="left", weight="bold", size=11.5)
    describe(figure, f"{found}. Beside it: {'; '.join(recorded) or NOTHING_RECORDED}")
    return figure


def path_colour(name: str, among: Sequence[str] = ()) -> tuple[float, float, float]:
    """A path's colour; of several with the same path, such as chunk sizes, each its own shade."""
    path = name.partition(",")[0]
    same = [other for other in among if other.partition(",")[0] == path]
    full = np.array(to_rgb(PATH_COLOURS.get(path, INK)))
    pale = same.index(name) / len(same) if name in same else 0.0
    red, green, blue = full + 0.75 * pale * (1 - full)
    return red, green, blue


def quickest(medians: Mapping[str, Mapping[float, float]], bandwidth: bool = False) -> str:
    """Who is the fastest at the smallest and at the largest size with a rival, in one line."""
    sizes = sorted({size for times in medians.values() for size in times})
    rivals = {size: [name for name in medians if size in medians[name]] for size in sizes}
    met = [size for size in sizes if len(rivals[size]) > 1] if len(medians) > 1 else sizes
    if not met:
        return "Paths that were not measured at the same sizes"
    parts = []
    for size in dict.fromkeys((met[0], met[-1])):
        name = min(rivals[size], key=lambda one: medians[one][size])
        seconds = medians[name][size]
        value = rate_text(size / seconds) if bandwidth else time_text(seconds)
        who = f"{name} is fastest, " if len(medians) > 1 else ""
        parts.append(f"{size_text(size)}: {who}{value}")
    return "; ".join(parts)


def _medians(name: str, grounds: tuple) -> dict[float, float]:
    """What was measured counts most, what was computed least."""
    computed, simulated, measured = grounds
    if name in measured:
        return _middles(measured)[name]
    return dict(zip(*(simulated.get(name) or computed[name]), strict=True))


def _middles(measured: Mapping[str, Measured]) -> dict[str, dict[float, float]]:
    return {
        name: {size: one[0] for size, one in found.items()} for name, found in measured.items()
    }


def _shown(sizes: float | Sequence[float], times: Sequence[float], bandwidth: bool) -> np.ndarray:
    return np.asarray(sizes) / np.asarray(times) if bandwidth else np.asarray(times)


def _dots(ax: Axes, measured: Measured, colour: object, label: str | None, look: str) -> None:
    sizes = list(measured)
    middle, one_end, other_end = np.array([measured[size] for size in sizes]).T
    ax.vlines(sizes, one_end, other_end, color=colour, linewidth=3, alpha=0.5)
    ax.plot(sizes, middle, look, color=colour, label=label, linewidth=1.0, markersize=5, zorder=4)


def _valley(sizes: Sequence[float], times: Sequence[float]) -> str:
    return size_text(sizes[int(np.argmin(times))])


def _in_words(reigns: Sequence[tuple[float, str]]) -> str:
    """Where the path changes; how large its chunks are is left to the bars."""
    parts, last = [], ""
    for begin, name in reigns:
        path = name.partition(",")[0]
        if path != last:
            parts.append(f"{path} from {size_text(begin)} on" if begin else path)
        last = path
    return ", ".join(parts)


def _finish(ax: Axes, found: str, label: str, title: str | None) -> None:
    """Title, legend, and the words that say on what it was measured."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    if label:
        ax.text(1.0, 1.01, label, transform=ax.transAxes, ha="right", va="bottom", fontsize=8,
                color=LABEL, style="italic")  # fmt: skip
    ax.set_title((found if title is None else title) + ("\n" if label else ""))
    describe(ax.figure, f"{found}. {label}".strip())
