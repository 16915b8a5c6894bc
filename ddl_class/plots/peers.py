"""Ours beside the peers': how many times as long, every case a dot, on a logarithmic axis.

Left of the line at 1 ours is the faster. A bar stands at the median of a row's cases. What to look
at: where dots of one row lie on both sides, it is the size that decides and not the maker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.frame import finish_panels, log_scale, name_rows, panels
from ddl_runtime.pictures.style import INK, Look, in_style, rank_colour


@in_style
def plot_peers(
    ratios: Mapping[tuple[str, str], Sequence[float]],
    *,
    machine: str = "",
    title: str | None = None,
) -> Figure:
    """Draw a row for each (way of ours, peer): our time / the peer's in each case."""
    if not ratios:
        raise ValueError("nothing to draw: give the ratios of at least one way and its peer")
    [ax] = axes = panels(9.0, 1.5 + 0.27 * len(ratios))
    peers = list(dict.fromkeys(peer for _, peer in ratios))
    for row, ((_, peer), values) in enumerate(ratios.items()):
        look: Look = {"color": rank_colour(peers.index(peer)), "alpha": 0.5, "markersize": 5}
        ax.plot(values, np.full(len(values), row), "o", **look)
        ax.plot([np.median(values)] * 2, [row - 0.36, row + 0.36], color=INK)
    ax.axvline(1.0, color=INK, linewidth=1.0)
    log_scale(ax, "x")
    name_rows(ax, [f"{ours}  /  {peer}" for ours, peer in ratios])
    ax.tick_params(labelsize=8.5)
    ax.grid(True, axis="x")
    ax.set_xlabel(
        "our time / the peer's   (dot: a case, bar: median; left of 1 ours is faster)"
        + (f"\n{machine}" if machine else "")
    )
    words = "; ".join(
        f"{ours} / {peer}: median {np.median(values):.2g}"
        for (ours, peer), values in ratios.items()
    )
    more = f"{words}. {machine}"
    return finish_panels(axes, "Our times over those of peers", faster(ratios), title, more=more)


def faster(ratios: Mapping[tuple[str, str], Sequence[float]]) -> str:
    """In how many rows, and in how many cases, ours is the faster."""
    rows = sum(np.median(values) < 1 for values in ratios.values())
    cases = np.concatenate([*ratios.values()])
    return (
        f"Faster than the peer in {rows} of {len(ratios)} rows by the median, in "
        f"{np.mean(cases < 1):.0%} of {len(cases)} cases"
    )
