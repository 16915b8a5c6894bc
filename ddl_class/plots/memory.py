"""Memory as bars, over time, and against time.

A bar is one rank's memory, a colour each for weights, gradients, optimizer states and activations.
A curve over time rises while a forward pass keeps activations and falls as the backward pass uses
them; computing again makes it rise once more. What to look at: how high, not how long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from ddl_class.plots.curves import draw_all
from ddl_class.plots.frame import BESIDE, finish, name_rows, write_numbers
from ddl_runtime.pictures.style import Look, in_style, new_axes, size_text

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "weights": "#4477aa",
        "gradients": "#ccbb44",
        "states": "#ee6677",
        "activations": "#66ccee",
    }
)
CURVES = ("#4477aa", "#ee6677", "#228833", "#aa3377", "#ccbb44")
Pairs = Mapping[str, Sequence[tuple[float, float]]]


@in_style
def plot_held(
    rows: Mapping[str, Mapping[str, float]],
    marks: Mapping[str, float] | None = None,
    *,
    title: str,
    ax: Axes | None = None,
) -> Figure:
    """Draw a bar for each row, of its bytes by kind; `marks` are totals to lay beside it."""
    if not rows:
        raise ValueError("no row of memory was given")
    ax = new_axes(9.0, 1.3 + 0.42 * len(rows)) if ax is None else ax
    kinds = [kind for kind in KINDS if any(row.get(kind) for row in rows.values())]
    ends = np.zeros(len(rows))
    for kind in kinds:
        held = [row.get(kind, 0) for row in rows.values()]
        ax.barh(range(len(rows)), held, 0.7, ends, color=KINDS[kind], label=kind)
        ends += held
    for place, (name, end) in enumerate(zip(rows, ends, strict=True)):
        ax.text(end, place, f" {size_text(end)}", va="center")
        if marks and name in marks:
            label = "formula" if name == next(iter(marks)) else None
            ax.plot([marks[name]] * 2, [place - 0.42, place + 0.42], color="black", label=label)
    ax.margins(x=0.12)
    name_rows(ax, rows)
    _count_in_binary(ax)
    listed = "; ".join(
        f"{name}: " + ", ".join(f"{kind} {size_text(row.get(kind, 0))}" for kind in kinds)
        for name, row in rows.items()
    )
    look: Look = {"x": "memory of one rank (bytes)", "grid": "", "legend": BESIDE}
    return finish(ax, "Memory of one rank as bars", title, more=f"{listed}.", **look)


@in_style
def plot_over_time(
    curves: Mapping[str, Sequence[float]], *, title: str, ax: Axes | None = None
) -> Figure:
    """Draw what is held after each layer that is computed, a curve for each plan."""
    if not curves:
        raise ValueError("no curve was given")
    ax = new_axes(9.0, 3.6) if ax is None else ax
    for place, (name, held) in enumerate(curves.items()):
        look: Look = {"color": CURVES[place % len(CURVES)], "where": "mid"}
        ax.step(range(1, len(held) + 1), held, label=name, **look)
    ax.set_ylim(bottom=0)
    listed = "; ".join(
        f"{name}: at most {max(held):g}, over {len(held)} layers computed"
        for name, held in curves.items()
    )
    names: Look = {"x": "layers computed so far, forward and backward", "y": "activations held"}
    about = "Activations held over time"
    return finish(ax, about, title, **names, legend=BESIDE, more=f"{listed}.")


@in_style
def plot_tradeoff(
    curves: Pairs, measured: Pairs | None = None, *, title: str, ax: Axes | None = None
) -> Figure:
    """Draw layers computed over bytes held: lines are formulas, dots are `measured`."""
    ax = new_axes(9.0, 3.8) if ax is None else ax
    grounds = {
        ground: {name: tuple(zip(*sorted(pairs), strict=True)) for name, pairs in points.items()}
        for ground, points in (("formula", curves), ("measured", measured or {}))
    }
    draw_all(ax, grounds, lambda _, place: CURVES[place % len(CURVES)])
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    _count_in_binary(ax)
    listed = "; ".join(
        f"{name}, {ground}: {computed[0]:g} layers in {size_text(held[0])} to {computed[-1]:g} in "
        f"{size_text(held[-1])}"
        for ground, points in grounds.items()
        for name, (held, computed) in points.items()
    )
    names: Look = {"x": "activations held at most (bytes)", "y": "layers computed forward"}
    return finish(ax, "Computation over memory", title, **names, legend=BESIDE, more=f"{listed}.")


def _count_in_binary(ax: Axes) -> None:
    """Ticks at whole powers of two of bytes, so that their labels are short."""
    step = 2.0 ** np.ceil(np.log2(max(ax.get_xlim()[1], 1.0) / 8))
    ax.xaxis.set_major_locator(MultipleLocator(step))
    write_numbers(ax.xaxis, size_text)
