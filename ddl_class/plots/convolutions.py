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
from matplotlib.ticker import LogLocator, NullLocator

from ddl_class.plots.frame import BESIDE, Text, count_in_short, finish_panels, log_scale, panels
from ddl_runtime.pictures.style import INK, Look, in_style, size_text, time_text

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
UNITS: Mapping[str, Text] = {"time": time_text, "memory": size_text}
PANEL = 2.1  # inches


def method_name(method: str) -> str:
    """A method's name as people write it.

    >>> method_name("fft"), method_name("winograd_6x6"), method_name("im2col")
    ('FFT', 'Winograd 6x6', 'im2col')
    """
    return SPOKEN.get(method, method.replace("winograd_", "Winograd "))


def method_colour(method: str) -> str:
    """A method's colour, the same in every picture."""
    return METHOD_COLOURS.get(method, OTHER)


class ConvolutionSweep(Protocol):
    """A sweep as `ddl_measure.experiments.convolution.sweep` makes it."""

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
    def of(cls, quantity: str, varied: Sequence[float], found: ConvolutionSweep) -> Self:
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
    size = max(9.0, 4.4 * len(columns)), 0.9 + PANEL * len(names)
    axes = panels(*size, len(names), len(columns), sharex="col", sharey="row")
    for place, column in enumerate(columns):
        own = axes[place :: len(columns)]
        for ax, name in zip(own, names, strict=True):
            for method, curve in column.panels[name].items():
                look: Look = {"color": method_colour(method), "label": method_name(method)}
                ax.plot(column.varied, curve, "o-", markersize=4, **look)
            log_scale(ax, "y", UNITS.get(name, count_in_short))
            base = 4 if name == "memory" else 10
            ax.yaxis.set_major_locator(LogLocator(base=base, numticks=6))
            ax.grid(True)
            _mark_crossings(ax, column.crossings, named=ax is own[0])
        _scale_varied(own[-1], column)
    for ax, name in zip(axes[:: len(columns)], names, strict=True):
        ax.set_ylabel(name)
    axes[len(columns) - 1].legend(**BESIDE)
    found = "\n".join(_finding(column.crossings, column.quantity) for column in columns)
    words = [
        f"{column.quantity}: {method_name(method)}, {name}: {_text(name, curve[0])} to "
        f"{_text(name, curve[-1])}."
        for column in columns
        for name, panel in column.panels.items()
        for method, curve in panel.items()
    ]
    return finish_panels(axes, " and ".join(names), found, title, more=" ".join(words))


def _finding(crossings: Mapping[str, float | None], quantity: str) -> str:
    """Where methods meet, by source, in one line."""
    if not crossings:
        return f"By {quantity}"
    agreeing: dict[str, list[str]] = {}
    for source, value in crossings.items():
        agreeing.setdefault("never" if value is None else f"from {value:g} on", []).append(source)
    listed = ", ".join(f"{' and '.join(sources)} {when}" for when, sources in agreeing.items())
    return f"The FFT wins by {quantity}: {listed}"


def _mark_crossings(ax: Axes, crossings: Mapping[str, float | None], named: bool) -> None:
    for place, value in enumerate(sorted({it for it in crossings.values() if it is not None})):
        line = (":", "--", "-.")[place % 3]
        ax.axvline(value, color=INK, linestyle=line, linewidth=1.3)
        if named:
            sources = ", ".join(source for source, where in crossings.items() if where == value)
            high: Look = {"xycoords": ("data", "axes fraction"), "va": "top", "rotation": 90}
            ax.annotate(f" {sources}", (value, 0.98), ha="right", color=INK, size=9, **high)


def _scale_varied(ax: Axes, column: Swept) -> None:
    if column.varied[-1] / column.varied[0] >= 16:
        ax.set_xscale("log", base=2)
    ax.set_xticks(column.varied, [f"{value:g}" for value in column.varied])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(column.quantity)


def _text(name: str, value: float) -> str:
    return UNITS.get(name, count_in_short)(value) if np.isfinite(value) else "not possible"
