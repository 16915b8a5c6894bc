"""Time, operations and memory of convolutions, over whatever is varied.

One panel below another over the same axis, a colour for each method, and a column for each
quantity that is varied. A dotted vertical line is a crossover, each with its source: counted,
predicted, measured. What to look at: methods that meet at one place in operations, and at quite
another in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from ddl_teach.plots.style import INK, Picture, describe, in_style, size_text, time_text

METHOD_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "direct": "#ccbb44",
        "im2col": "#4477aa",
        "fft": "#ee6677",
        "winograd_2x2": "#66ccee",
        "winograd_4x4": "#228833",
        "torch": "#555555",
    }
)
OTHER = "#aa3377"

SPOKEN = {"fft": "FFT", "winograd_2x2": "Winograd 2x2", "winograd_4x4": "Winograd 4x4"}
UNITS = {"time": time_text, "memory": size_text}
PANEL = 2.1  # inches


def method_name(method: str) -> str:
    """A method's name as people write it.

    >>> method_name("fft"), method_name("winograd_6x6"), method_name("im2col")
    ('FFT', 'Winograd 6x6', 'im2col')
    """
    return SPOKEN.get(method, method.replace("winograd_", "Winograd "))


class Answers(Protocol):
    """A sweep as `ddl_teach.operators.convolution.sweep` makes it."""

    panels: Mapping[str, Mapping[str, Sequence[float]]]

    def crossings(self, varied: Sequence[float]) -> Mapping[str, float | None]: ...


@dataclass(frozen=True)
class Swept:
    """What stands over the `varied` values of `quantity`: `panels`, by name, of curves by method.

    A curve may hold nan where a method cannot be used. `crossings` are values of the quantity, by
    source; None where there is none.
    """

    quantity: str
    varied: Sequence[float]
    panels: Mapping[str, Mapping[str, Sequence[float]]]  # "time", "operations", "memory"
    crossings: Mapping[str, float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, quantity: str, varied: Sequence[float], found: Answers) -> Self:
        """What is drawn of a sweep: measured time, operations, memory, and all crossings."""
        return cls(quantity, varied, found.panels, found.crossings(varied))

    def __post_init__(self) -> None:
        for name, panel in self.panels.items():
            for method, curve in panel.items():
                if len(curve) != len(self.varied):
                    raise ValueError(
                        f"{name} of {method} has {len(curve)} values over {len(self.varied)} of "
                        f"{self.quantity}"
                    )


@in_style
def plot_sweep(*columns: Swept, title: str | None = None) -> Figure:
    """Draw each of `columns` beside the others, its panels below one another."""
    names = list(columns[0].panels)
    figure = Picture(figsize=(max(9.0, 4.4 * len(columns)), 0.9 + PANEL * len(names)))
    grid = figure.subplots(len(names), len(columns), sharex="col", sharey="row", squeeze=False)
    for axes, column in zip(grid.T, columns, strict=True):
        for ax, name in zip(axes, names, strict=True):
            for method, curve in column.panels[name].items():
                colour = METHOD_COLOURS.get(method, OTHER)
                look = {"color": colour, "label": method_name(method), "markersize": 4}
                ax.plot(column.varied, curve, "o-", **look)
            _scale(ax, name)
            for place, value in enumerate(sorted({*column.crossings.values()} - {None})):
                sources = [one for one, where in column.crossings.items() if where == value]
                _mark(ax, ", ".join(sources) if ax is axes[0] else "", value, place)
        _scale_varied(axes[-1], np.asarray(column.varied, float), column.quantity)
    for ax, name in zip(grid[:, 0], names, strict=True):
        ax.set_ylabel(name)
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    grid[0, -1].legend(**place)
    found = "\n".join(finding(column.crossings, column.quantity) for column in columns)
    figure.suptitle(found if title is None else title, x=0.01, ha="left", weight="bold", size=11.5)
    words = [
        f"{column.quantity}: {method_name(method)}, {name}: {_text(name, curve[0])} to "
        f"{_text(name, curve[-1])}."
        for column in columns
        for name, panel in column.panels.items()
        for method, curve in panel.items()
    ]
    describe(figure, f"{' and '.join(names)}. {found}. {' '.join(words)}")
    return figure


def finding(crossings: Mapping[str, float | None], quantity: str) -> str:
    """Where methods meet, by source, in one line."""
    if not crossings:
        return f"By {quantity}"
    agreeing = {}
    for source, value in crossings.items():
        agreeing.setdefault("never" if value is None else f"from {value:g} on", []).append(source)
    listed = ", ".join(f"{' and '.join(sources)} {when}" for when, sources in agreeing.items())
    return f"The FFT wins by {quantity}: {listed}"


def _scale(ax: Axes, name: str) -> None:
    ax.set_yscale("log")
    unit = UNITS.get(name, _count_text)
    ax.yaxis.set_major_locator(LogLocator(base=4 if name == "memory" else 10, numticks=6))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: unit(value)))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(True)


def _scale_varied(ax: Axes, varied: np.ndarray, quantity: str) -> None:
    if varied[-1] / varied[0] >= 16:
        ax.set_xscale("log", base=2)
    ax.set_xticks(varied, [f"{value:g}" for value in varied])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(quantity)


def _mark(ax: Axes, source: str, value: float, place: int) -> None:
    ax.axvline(value, color=INK, linestyle=(":", "--", "-.")[place % 3], linewidth=1.3)
    if source:
        high = {"xycoords": ("data", "axes fraction"), "va": "top", "rotation": 90}
        ax.annotate(f" {source}", (value, 0.98), ha="right", color=INK, size=9, **high)


def _count_text(count: float) -> str:
    """Operations, in powers of 1000."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.3g}"


def _text(name: str, value: float) -> str:
    return UNITS.get(name, _count_text)(value) if np.isfinite(value) else "not possible"
