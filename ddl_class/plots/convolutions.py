"""Convolutions: time, operations and memory over whatever is varied, and what each method does.

A dotted vertical line is a crossover, each with its source: counted, predicted, measured. What to
look at: methods that meet at one place in operations, and at quite another in time; how often a
pixel's colour comes back in the matrix of im2col; the size of the blot that one bad pixel makes;
Winograd's error, which grows with each larger tile while there is ever less left to save; and the
border between two colours of a map, which moves when the rates of a processor change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.ticker import LogLocator, NullLocator

from ddl_class.plots.course import amount
from ddl_class.plots.frame import BESIDE, Numbers, Plane, Text, extremes, need, panels, plane
from ddl_runtime.pictures.style import INK, Look, Picture
from ddl_runtime.pictures.words import count_in_short, size_text, time_text

if TYPE_CHECKING:
    from ddl_measure.experiments.convolutions import Sweep

METHOD_COLOURS: Mapping[str, str] = {
    "direct": "#ccbb44",
    "im2col": "#4477aa",
    "fft": "#ee6677",
    "winograd_2x2": "#66ccee",
    "winograd_4x4": "#228833",
    "torch": "#555555",
}
OTHER = "#aa3377"

SPOKEN = {"fft": "FFT", "winograd_2x2": "Winograd 2x2", "winograd_4x4": "Winograd 4x4"}
UNITS: Mapping[str, Text] = {"time": time_text, "memory": size_text}
PANEL = 2.1  # inches
LARGEST = 25 * 30  # numbers of a matrix that one can still read
GOOD, BAD = "#dfe8f2", "#cc3311"
FAR_AHEAD = 3.0  # times as fast as the next: the full colour
PALEST = 0.35


def method_name(method: str) -> str:
    """A method's name as people write it.

    >>> method_name("fft"), method_name("winograd_6x6"), method_name("im2col")
    ('FFT', 'Winograd 6x6', 'im2col')
    """
    return SPOKEN.get(method, method.replace("winograd_", "Winograd "))


def method_colour(method: str) -> str:
    """A method's colour, the same in every picture."""
    return METHOD_COLOURS.get(method, OTHER)


@dataclass(frozen=True)
class Swept:
    """What stands over the `varied` values of `quantity`: `panels`, by name, of curves by method.

    A curve may hold nan where a method cannot be used. `crossings` are values of the quantity, by
    source; None where curves do not cross.
    """

    quantity: str
    varied: Numbers
    panels: Mapping[str, Mapping[str, Numbers | np.ndarray]]  # "time", "operations", ...
    crossings: Mapping[str, float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, quantity: str, varied: Numbers, swept: "Sweep") -> Self:
        """What is drawn of a sweep: measured time, operations, memory, and all crossings."""
        return cls(quantity, varied, swept.panels, swept.crossings(varied))

    def __post_init__(self) -> None:
        for name, panel in self.panels.items():
            for method, curve in panel.items():
                words = f"{name} of {method} has {len(curve)} values over {len(self.varied)} of "
                need(len(curve) == len(self.varied), words + self.quantity)


def plot_sweep(*columns: Swept) -> Picture:
    """Draw each of `columns` beside the others, its panels below one another."""
    names, many = list(columns[0].panels), len(columns)
    size = max(9.0, 4.4 * many), 0.9 + PANEL * len(names)
    axes = panels(*size, len(names), many, sharex="col", sharey="row")
    words = []
    for place, column in enumerate(columns):
        own = axes[place::many]
        for ax, name in zip(own, names, strict=True):
            text = UNITS.get(name, count_in_short)
            for method, curve in column.panels[name].items():
                label = method_name(method)
                look: Look = {"color": method_colour(method), "label": label, "markersize": 4}
                ax.plot(column.varied, curve, "o-", **look)
                ends = (
                    text(point) if np.isfinite(point) else "not possible"
                    for point in curve[:: len(curve) - 1]
                )
                words.append(f"{column.quantity}: {label}, {name}: {' to '.join(ends)}.")
            ax.log_scale("y", text)
            base = 4 if name == "memory" else 10
            ax.yaxis.set_major_locator(LogLocator(base=base, numticks=6))
            ax.grid(True)
            _mark_crossings(ax, column.crossings, named=ax is own[0])
            if place == 0:
                ax.set_ylabel(name)
        if column.varied[-1] / column.varied[0] >= 16:
            own[-1].set_xscale("log", base=2)
        own[-1].set_xticks(column.varied, [f"{value:g}" for value in column.varied])
        own[-1].xaxis.set_minor_locator(NullLocator())
        own[-1].set_xlabel(column.quantity)
    axes[many - 1].legend(**BESIDE)
    takeaway = "\n".join(_finding(column.crossings, column.quantity) for column in columns)
    return axes[0].finish_all(" and ".join(names), takeaway, more=" ".join(words))


def _finding(crossings: Mapping[str, float | None], quantity: str) -> str:
    """One line that says from where on the FFT wins, by each source."""
    if not crossings:
        return f"By {quantity}"
    agreeing: dict[str, list[str]] = {}
    for source, value in crossings.items():
        agreeing.setdefault("never" if value is None else f"from {value:g} on", []).append(source)
    listed = ", ".join(f"{' and '.join(sources)} {when}" for when, sources in agreeing.items())
    return f"The FFT wins by {quantity}: {listed}"


def _mark_crossings(ax: Plane, crossings: Mapping[str, float | None], named: bool) -> None:
    for place, value in enumerate(
        sorted({crossing for crossing in crossings.values() if crossing is not None})
    ):
        ax.axvline(value, color=INK, linestyle=(":", "--", "-.")[place % 3], linewidth=1.3)
        if named:
            sources = ", ".join(source for source, where in crossings.items() if where == value)
            high: Look = {"xycoords": ("data", "axes fraction"), "va": "top", "rotation": 90}
            ax.annotate(f" {sources}", (value, 0.98), ha="right", color=INK, size=9, **high)


def plot_im2col(image: np.ndarray, matrix: np.ndarray) -> Picture:
    """Draw an `image` of whole numbers and the `matrix` of its patches, in the same colours."""
    image, matrix = np.atleast_2d(image), np.atleast_2d(matrix)
    for name, numbers in {"image": image, "matrix": matrix}.items():
        words = f"{name} has shape {numbers.shape}: give one with two axes and at most {LARGEST} "
        words += "numbers, of one image and one channel"
        need(numbers.ndim == 2 and 0 < numbers.size <= LARGEST, words)
        need(numbers.dtype != object, f"the {name} is None: what makes it is not right yet")
    height = 0.9 + 0.36 * max(image.shape[0], matrix.shape[0], 6)
    widths = [image.shape[1], matrix.shape[1]]
    left, right = axes = panels(9.5, height, columns=2, width_ratios=widths)
    low, high = image.min(), image.max()
    for ax, numbers in zip(axes, (image, matrix), strict=True):
        ax.imshow(numbers, cmap="viridis", vmin=low, vmax=high, alpha=0.75, aspect="auto")
        small = 9 if numbers.shape[1] <= 12 else 7
        ax.write_numbers_into(numbers, (low + high) / 2, fontsize=small)
        ax.part_pixels(numbers.shape, width=1.2)
        ax.spines[:].set_visible(False)
    left.set_xlabel("the image")
    right.set(xlabel="a column for each output", ylabel="a row for each weight")
    takeaway = (
        f"{image.size} pixels become {matrix.shape[0]} x {matrix.shape[1]} = {matrix.size} "
        f"numbers: {matrix.size / image.size:.3g} times the memory"
    )
    rows = "; ".join(" ".join(f"{number:g}" for number in row) for row in matrix[:3])
    more = f"The matrix begins with {rows}."
    return axes[0].finish_all("An image and its im2col matrix", takeaway, more=more)


def plot_spread(outputs: Mapping[str, np.ndarray]) -> Picture:
    """Draw one output image of each method; numbers that are not finite are the bad ones."""
    need(outputs, "nothing to draw: give the output of at least one method")
    bad = {name: ~np.isfinite(np.asarray(image)) for name, image in outputs.items()}
    for name, image in bad.items():
        need(image.ndim == 2, f"{name} has shape {image.shape}: give one image, of two axes")
    axes = panels(2.6 * len(bad) + 0.4, 3.2, columns=len(bad))
    for ax, (name, image) in zip(axes, bad.items(), strict=True):
        ax.imshow(image, cmap=ListedColormap([GOOD, BAD]), vmin=0, vmax=1)
        ax.set_title(f"{name}: {image.sum():,}", weight="normal", size=10)
        ax.part_pixels(image.shape, width=0.8)
    takeaway = "Spoiled outputs: " + ", ".join(
        f"{image.sum():,} by {n}" for n, image in bad.items()
    )
    return axes[0].finish_all("Outputs of each method; those that are no numbers in red", takeaway)


def plot_errors(tiles: Sequence[int], errors: Numbers) -> Picture:
    """Draw the `errors` of Winograd's F(m x m, 3 x 3), in units of the definition's, over m, and
    the multiplications that it saves."""
    words = f"{len(tiles)} tiles and {len(errors)} errors: give one for each"
    need(len(tiles) == len(errors) > 0, words)
    m = np.asarray(tiles, float)
    saved = 9 * m**2 / (m + 2) ** 2
    ax = plane("outputs m of a tile, F(m x m, 3 x 3)", "times the definition", 3.8, 8.0)
    error, fewer = METHOD_COLOURS["fft"], METHOD_COLOURS["winograd_4x4"]
    ax.plot(tiles, errors, "o-", color=error, label="error, times the definition's")
    ax.plot(tiles, saved, "s-", color=fewer, label="multiplications, times fewer")
    ax.log_scale("y")
    ax.yaxis.set_major_locator(LogLocator(numticks=8))
    ax.set_xticks(tiles, [f"{tile:g}" for tile in tiles])
    takeaway = f"m = {tiles[-1]:g}: {saved[-1]:.2g} times fewer multiplications, "
    takeaway += f"{amount(errors[-1])} times the error"
    listed = ", ".join(f"{tile:g}: {error:.3g}" for tile, error in zip(tiles, errors, strict=True))
    about = "Error of Winograd's convolution over its tile"
    return ax.finish(about, takeaway, legend="upper left", more=f"{listed}.")


def plot_method_map(
    maps: Mapping[str, Mapping[str, np.ndarray]],
    rows: Numbers,
    columns: Numbers,
    *,
    row_quantity: str,
    column_quantity: str,
) -> Picture:
    """Draw one map beside another, by name; each holds the times [row, column] of every method.

    Where a method cannot be used its time is inf. A cell's colour is the method that is predicted
    to be the fastest there, its strength how far ahead of the next one it is.
    """
    winners, strength, phrases = {}, {}, []
    shape = len(rows), len(columns)
    for name, times in maps.items():
        stack = np.stack(list(times.values()))
        words = f"the times of {name} have shape {stack.shape[1:]}; with {len(rows)} rows and "
        need(stack.shape[1:] == shape, f"{words}{len(columns)} columns it must be {shape}")
        winners[name] = np.array(list(times))[stack.argmin(axis=0)]
        first, second, *_ = np.sort([*stack, np.full(shape, np.inf)], axis=0)
        strength[name] = np.clip(np.log(second / first) / np.log(FAR_AHEAD), PALEST, 1.0)
        wins = {method: float((winners[name] == method).mean()) for method in times}
        _, best = extremes(wins)
        phrases.append(f"{name}: {method_name(best)} wins {wins[best]:.0%}")
    won = np.unique([*winners.values()])
    every = dict.fromkeys(method for times in maps.values() for method in times)
    colours = {method: method_colour(method) for method in every if method in won}
    size = min(1.6 + 3.9 * len(maps), 10.5), 4.2
    axes = draw_names(winners, colours, strength, size, row_quantity, column_quantity)
    for ax in axes:
        ax.set_xticks(*_ticks(columns))
    axes[0].set_yticks(*_ticks(rows))
    axes[-1].explain_colours({method_name(method): colour for method, colour in colours.items()})
    about = f"Maps of the fastest method over {row_quantity} and {column_quantity}"
    return axes[0].finish_all(about, "; ".join(phrases))


def _ticks(values: Numbers) -> tuple[Sequence[int], Sequence[str]]:
    places = range(0, len(values), max(1, -(-len(values) // 10)))
    return places, [f"{values[place]:g}" for place in places]


def draw_names(
    tables: Mapping[str, np.ndarray],
    colours: Mapping[str, Any],
    strength: Mapping[str, np.ndarray],
    size: tuple[float, float],
    row_quantity: str = "",
    column_quantity: str = "",
) -> list[Plane]:
    """Tables beside each other, each cell in the colour of the name in it; the first row is below.

    The `strength` of a colour is between 0, which is white, and 1. An empty name is white too.
    """
    axes = panels(*size, columns=len(tables), sharey=True)
    for ax, (title, names) in zip(axes, tables.items(), strict=True):
        full = np.array([[to_rgb(colours.get(name, "white")) for name in row] for row in names])
        ax.imshow(1 - strength[title][..., None] * (1 - full), origin="lower", aspect="auto")
        ax.set_title(title, weight="normal", size=10)
        ax.set_xlabel(column_quantity)
    axes[0].set_ylabel(row_quantity)
    return axes
