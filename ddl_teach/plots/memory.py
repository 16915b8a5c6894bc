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
from matplotlib.ticker import FuncFormatter, MultipleLocator

from ddl_teach.plots.style import describe, in_style, new_axes, size_text

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "weights": "#4477aa",
        "gradients": "#ccbb44",
        "states": "#ee6677",
        "activations": "#66ccee",
    }
)
CURVES = ("#4477aa", "#ee6677", "#228833", "#aa3377", "#ccbb44")
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}


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
    marks = dict(marks or {})
    drawn = [kind for kind in KINDS if any(row.get(kind) for row in rows.values())]
    for place, (name, row) in enumerate(rows.items()):
        start = 0.0
        for kind in drawn:
            label = kind if place == 0 else None
            ax.barh(
                place, row.get(kind, 0), left=start, height=0.7, color=KINDS[kind], label=label
            )
            start += row.get(kind, 0)
        ax.text(start, place, f" {size_text(start)}", va="center")
        if name in marks:
            label = "formula" if name == next(iter(marks)) else None
            ax.plot([marks[name]] * 2, [place - 0.42, place + 0.42], color="black", label=label)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.margins(x=0.12)
    _count_in_binary(ax)
    ax.set_xlabel("memory of one rank (bytes)")
    ax.legend(**BESIDE)
    ax.set_title(title)
    texts = (
        f"{name}: " + ", ".join(f"{kind} {size_text(row.get(kind, 0))}" for kind in drawn)
        for name, row in rows.items()
    )
    describe(ax.figure, f"Memory of one rank as bars. {title}. {'; '.join(texts)}.")
    return ax.figure


@in_style
def plot_over_time(
    curves: Mapping[str, Sequence[float]], *, title: str, ax: Axes | None = None
) -> Figure:
    """Draw what is held after each layer that is computed, a curve for each plan."""
    if not curves:
        raise ValueError("no curve was given")
    ax = new_axes(9.0, 3.6) if ax is None else ax
    for place, (name, held) in enumerate(curves.items()):
        colour = CURVES[place % len(CURVES)]
        ax.step(range(1, len(held) + 1), held, where="mid", color=colour, label=name)
    ax.set_ylim(bottom=0)
    ax.grid(True)
    ax.set_xlabel("layers computed so far, forward and backward")
    ax.set_ylabel("activations held")
    ax.legend(**BESIDE)
    ax.set_title(title)
    texts = (
        f"{name}: at most {max(held):g}, over {len(held)} layers computed"
        for name, held in curves.items()
    )
    describe(ax.figure, f"Activations held over time. {title}. {'; '.join(texts)}.")
    return ax.figure


@in_style
def plot_tradeoff(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    measured: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    *,
    title: str,
    ax: Axes | None = None,
) -> Figure:
    """Draw layers computed over bytes held: lines are formulas, dots are `measured`."""
    ax = new_axes(9.0, 3.8) if ax is None else ax
    measured = dict(measured or {})
    names = list(dict.fromkeys([*curves, *measured]))
    texts = []
    for ground, points, look in (
        ("formula", curves, {"marker": "", "linestyle": "-"}),
        ("measured", measured, {"marker": "o", "linestyle": ""}),
    ):
        for name, pairs in points.items():
            held, computed = zip(*sorted(pairs), strict=True)
            colour = CURVES[names.index(name) % len(CURVES)]
            ax.plot(held, computed, color=colour, label=f"{name}, {ground}", **look)
            texts.append(
                f"{name}, {ground}: {computed[0]:g} layers in {size_text(held[0])} to "
                f"{computed[-1]:g} in {size_text(held[-1])}"
            )
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.grid(True)
    _count_in_binary(ax)
    ax.set_xlabel("activations held at most (bytes)")
    ax.set_ylabel("layers computed forward")
    ax.legend(**BESIDE)
    ax.set_title(title)
    describe(ax.figure, f"Computation over memory. {title}. {'; '.join(texts)}.")
    return ax.figure


def _count_in_binary(ax: Axes) -> None:
    """Ticks at whole powers of two of bytes, so that their labels are short."""
    step = 2.0 ** np.ceil(np.log2(max(ax.get_xlim()[1], 1.0) / 8))
    ax.xaxis.set_major_locator(MultipleLocator(step))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
