"""What each rank held when: time across, bytes upwards, a step at each change.

A line for each of a few ranks, in its colour; of more ranks the area from the least to the most
that one of them held. The title says which rank held most, and what.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_runtime.pictures.activity import Spans
from ddl_runtime.pictures.style import INK, Picture, describe, figure_of, in_style, new_axes
from ddl_runtime.pictures.style import rank_colour as colour_of
from ddl_runtime.pictures.timeline import plot_timeline
from ddl_runtime.pictures.words import size_text, size_unit, time_unit

MOST_LINES = 9  # ranks whose colours can be told apart
MOMENTS = 1200  # at which many ranks are compared
TRACK = 2.2  # inches, beside a timeline


class Track(Protocol):
    """What a picture must know of what was held."""

    @property
    def ranks(self) -> int: ...
    def curve(self, rank: int) -> tuple[np.ndarray, np.ndarray]: ...
    def peak(self, rank: int) -> int: ...
    def counts_at_peak(self, rank: int) -> dict[str, tuple[int, int]]: ...


@in_style
def plot_memory(
    track: Track, *, ranks: Iterable[int] | None = None, end: float | None = None,
    capacity: float | None = None, title: str | None = None, ax: Axes | None = None,
) -> Figure:  # fmt: skip
    """Draw what ranks held, all or some, up to `end` seconds, and a line at the `capacity`."""
    shown = range(track.ranks) if ranks is None else list(ranks)
    if unknown := [rank for rank in shown if not 0 <= rank < track.ranks]:
        raise ValueError(f"rank {unknown[0]} is not among the ranks 0 to {track.ranks - 1}")
    scale, size_name = size_unit(max(map(track.peak, shown), default=0))
    curves = [(times, held / scale) for times, held in map(track.curve, shown)]
    last = max((float(times[-1]) for times, _ in curves if len(times)), default=0.0)
    end = last if end is None else end
    factor, time_name = time_unit(end)
    ax = new_axes(height=TRACK + 0.8) if ax is None else ax
    if len(shown) <= MOST_LINES:
        for rank, (times, held) in zip(shown, curves, strict=True):
            xs, ys = np.append(times, end) * factor, np.append(held, held[-1:] if len(held) else 0)
            ax.step(xs, ys, where="post", color=colour_of(rank), label=f"rank {rank}")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.2)
    else:
        moments = np.linspace(0.0, end, MOMENTS)
        changes = [(np.searchsorted(times, moments, "right"), held) for times, held in curves]
        rows = np.array([np.append(0, held)[places] for places, held in changes])
        look: dict[str, Any] = {"step": "post", "color": INK, "alpha": 0.35, "linewidth": 0}
        ax.fill_between(moments * factor, rows.min(axis=0), rows.max(axis=0), **look)
        ax.step(moments * factor, rows.max(axis=0), where="post", color=INK, label="most")
    if capacity is not None:
        ax.axhline(capacity / scale, color=INK, linestyle="--", linewidth=1.0)
    ax.set_ylim(bottom=0)
    ax.set_xlim(0, end * factor or 1.0)
    ax.set_xlabel(f"time ({time_name})")
    ax.set_ylabel(f"held ({size_name})")
    words = most_held(track, shown)
    ax.set_title(words if title is None else title)
    describe(figure_of(ax), f"Memory of {len(shown):,} ranks over time. {words}.")
    return figure_of(ax)


@in_style
def plot_run(timeline: Spans, track: Track, **options: Any) -> Figure:
    """The timeline as `plot_timeline` draws it, and below what was held in the same time."""
    height = min(1.4 + 0.5 * timeline.ranks, 6.0) + TRACK
    figure = Picture(figsize=(9.0, height))
    ratios = {"height_ratios": [height - TRACK, TRACK]}
    above, below = figure.subplots(2, 1, sharex=True, gridspec_kw=ratios)
    plot_timeline(timeline, ax=above, **options)
    left, right = above.get_xlim()
    ends = [span[3] for rank in range(timeline.ranks) for span in timeline.of(rank)]
    plot_memory(track, ranks=options.get("ranks"), end=max(ends, default=0.0), ax=below)
    below.set_xlim(left, right)
    return figure


def most_held(track: Track, ranks: Sequence[int]) -> str:
    """Which of the ranks held most at once, and what that was."""
    most = max(ranks, key=track.peak, default=None)
    if most is None or not track.peak(most):
        return "Nothing was held"
    kinds = (
        f"{count} {what}" if count > 1 else what
        for what, (count, _) in track.counts_at_peak(most).items()
    )
    return f"At most {size_text(track.peak(most))}, on rank {most}: {', '.join(kinds)}"
