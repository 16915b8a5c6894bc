"""What Winograd pays with: its error over the tile, beside the multiplications that it saves.

Both in units of the definition's, which is the tile of one output. What to look at: the error
grows by the same factor with each larger tile, while there is ever less left to save.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.convolutions import METHOD_COLOURS
from ddl_teach.plots.style import describe, in_style, new_axes

ERROR, SAVED = METHOD_COLOURS["fft"], METHOD_COLOURS["winograd_4x4"]


@in_style
def plot_errors(
    tiles: Sequence[int], errors: Sequence[float], *, kernel: int = 3, title: str | None = None
) -> Figure:
    """Draw the `errors` of F(m x m, kernel x kernel), in units of the definition's, over m."""
    tiles, errors = np.asarray(tiles, float), np.asarray(errors, float)
    if tiles.shape != errors.shape or not tiles.size:
        raise ValueError(f"{tiles.size} tiles and {errors.size} errors: give one for each")
    saved = kernel**2 * tiles**2 / (tiles + kernel - 1) ** 2
    ax = new_axes(8.0, 3.8)
    ax.plot(tiles, errors, "o-", color=ERROR, label="error, times the definition's")
    ax.plot(tiles, saved, "s-", color=SAVED, label="multiplications, times fewer")
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(numticks=8))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xticks(tiles, [f"{tile:g}" for tile in tiles])
    ax.set_xlabel(f"outputs m of a tile, F(m x m, {kernel} x {kernel})")
    ax.set_ylabel("times the definition")
    ax.grid(True)
    ax.legend(loc="upper left")
    found = finding(tiles, errors, saved)
    ax.set_title(found if title is None else title)
    listed = ", ".join(f"{tile:g}: {error:.3g}" for tile, error in zip(tiles, errors, strict=True))
    describe(ax.figure, f"Error of Winograd's convolution over its tile. {found}. {listed}.")
    return ax.figure


def finding(tiles: np.ndarray, errors: np.ndarray, saved: np.ndarray) -> str:
    """What the largest tile saves and costs, in one line."""
    last = f"m = {tiles[-1]:g}"
    return (
        f"{last}: {saved[-1]:.2g} times fewer multiplications, {errors[-1]:,.3g} times the error"
    )
