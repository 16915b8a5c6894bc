"""How a sum of sparse vectors fills in: its share of places that hold something, over the ranks.

A line is expected, a hollow square drawn or simulated, a dot measured. Above the dashed line the
sum is smaller as a dense vector. What to look at: how early the line bends, and which data stay
below it.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ddl_teach.plots.style import INK, Points, describe, in_style, new_axes, rank_colour


@in_style
def plot_fill_in(
    expected: Mapping[str, Points],
    found: Mapping[str, Points] = {},
    *,
    dense_above: float = 0.5,
    how: str = "simulated",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw shares (0 to 1) over the number of ranks: lines, and squares, by name."""
    ax = new_axes(9.0, 4.0) if ax is None else ax
    ax.axhline(100 * dense_above, color=INK, linewidth=1.0, linestyle="--")
    ax.annotate(
        "above, the vector is smaller", (0.01, 100 * dense_above), (2, 4), color=INK,
        xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    for place, (name, (ranks, shares)) in enumerate(expected.items()):
        colour = rank_colour(place)
        ax.plot(ranks, [100 * share for share in shares], color=colour, label=f"{name}, expected")
    names = [*expected, *(name for name in found if name not in expected)]
    for name, (ranks, shares) in found.items():
        ax.plot(
            ranks, [100 * share for share in shares], "s", color=rank_colour(names.index(name)),
            markerfacecolor="none", label=f"{name}, {how}",
        )  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:g}"))
    ax.set_ylim(0, 103)
    ax.set_xlabel("ranks whose vectors are added up")
    ax.set_ylabel("places of the sum that hold something (%)")
    ax.grid(True)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.92))
    said = finding(expected)
    ax.set_title(said if title is None else title)
    describe(ax.figure, f"Share of places that hold something over ranks. {said}.")
    return ax.figure


def finding(expected: Mapping[str, Points]) -> str:
    """What each line begins and ends with."""
    lines = [
        f"{name}: {100 * shares[0]:.2g}% on {ranks[0]:g}, {100 * shares[-1]:.0f}% on {ranks[-1]:g}"
        for name, (ranks, shares) in expected.items()
    ]
    return "; ".join(lines)
