"""Memory as bars, over time, and against time.

A bar is one rank's memory, a colour each for weights, gradients, optimizer states and activations.
A curve over time rises while a forward pass keeps activations and falls as the backward pass uses
them; computing again makes it rise once more. What to look at: how high, not how long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from ddl_class.plots.curves import Series, colours_of
from ddl_class.plots.frame import BESIDE, Plane, need, plane, write_numbers
from ddl_runtime.pictures.style import Look, in_style, size_text

KINDS: Mapping[str, str] = {
    "weights": "#4477aa",
    "gradients": "#ccbb44",
    "states": "#ee6677",
    "activations": "#66ccee",
}
CURVES = ("#4477aa", "#ee6677", "#228833", "#aa3377", "#ccbb44")
Pairs = Mapping[str, Sequence[tuple[float, float]]]


@in_style
def plot_held(
    rows: Mapping[str, Mapping[str, float]],
    marks: Mapping[str, float] | None = None,
    *,
    title: str,
) -> Figure:
    """Draw a bar for each row, of its bytes by kind; `marks` are totals to lay beside it."""
    need(rows, "no row of memory was given")
    ax = plane("memory of one rank (bytes)", height=1.3 + 0.42 * len(rows))
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
    ax.name_rows(rows)
    _count_in_binary(ax)
    listed = "; ".join(
        f"{name}: " + ", ".join(f"{kind} {size_text(row.get(kind, 0))}" for kind in kinds)
        for name, row in rows.items()
    )
    about, more = "Memory of one rank as bars", f"{listed}."
    return ax.finish(about, title, grid="", legend=BESIDE, more=more)


@in_style
def plot_over_time(curves: Series, *, title: str) -> Figure:
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
    return ax.finish("Activations held over time", title, legend=BESIDE, more=f"{listed}.")


@in_style
def plot_tradeoff(curves: Pairs, measured: Pairs, *, title: str) -> Figure:
    """Draw layers computed over bytes held: lines are formulas, dots are `measured`."""
    ax = plane("activations held at most (bytes)", "layers computed forward", 3.8)
    grounds = {
        ground: {name: tuple(zip(*sorted(pairs), strict=True)) for name, pairs in points.items()}
        for ground, points in (("formula", curves), ("measured", measured))
    }
    ax.draw_all(grounds, colours_of(CURVES))
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    _count_in_binary(ax)
    listed = "; ".join(
        f"{name}, {ground}: {computed[0]:g} layers in {size_text(held[0])} to {computed[-1]:g} in "
        f"{size_text(held[-1])}"
        for ground, points in grounds.items()
        for name, (held, computed) in points.items()
    )
    return ax.finish("Computation over memory", title, legend=BESIDE, more=f"{listed}.")


def _count_in_binary(ax: Plane) -> None:
    """Ticks at whole powers of two of bytes, so that their labels are short."""
    step = 2.0 ** np.ceil(np.log2(max(ax.get_xlim()[1], 1.0) / 8))
    ax.xaxis.set_major_locator(MultipleLocator(step))
    write_numbers(ax.xaxis, size_text)
