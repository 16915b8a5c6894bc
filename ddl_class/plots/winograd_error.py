"""What Winograd pays with: its error over the tile, beside the multiplications that it saves.

Both in units of the definition's, which is the tile of one output. What to look at: the error
grows by the same factor with each larger tile, while there is ever less left to save.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ddl_class.plots.convolutions import METHOD_COLOURS
from ddl_class.plots.frame import finish, log_scale
from ddl_runtime.pictures.style import Look, in_style, new_axes

ERROR, SAVED = METHOD_COLOURS["fft"], METHOD_COLOURS["winograd_4x4"]


@in_style
def plot_errors(
    tiles: Sequence[int], errors: Sequence[float], *, kernel: int = 3, title: str | None = None
) -> Figure:
    """Draw the `errors` of F(m x m, kernel x kernel), in units of the definition's, over m."""
    if len(tiles) != len(errors) or not len(tiles):
        raise ValueError(f"{len(tiles)} tiles and {len(errors)} errors: give one for each")
    m = np.asarray(tiles, float)
    saved = kernel**2 * m**2 / (m + kernel - 1) ** 2
    ax = new_axes(8.0, 3.8)
    ax.plot(tiles, errors, "o-", color=ERROR, label="error, times the definition's")
    ax.plot(tiles, saved, "s-", color=SAVED, label="multiplications, times fewer")
    log_scale(ax, "y", "{:,g}".format)
    ax.yaxis.set_major_locator(LogLocator(numticks=8))
    ax.set_xticks(tiles, [f"{tile:g}" for tile in tiles])
    found = (
        f"m = {tiles[-1]:g}: {saved[-1]:.2g} times fewer multiplications, {errors[-1]:,.3g} times "
        "the error"
    )
    listed = ", ".join(f"{tile:g}: {error:.3g}" for tile, error in zip(tiles, errors, strict=True))
    names: Look = {
        "x": f"outputs m of a tile, F(m x m, {kernel} x {kernel})",
        "y": "times the definition",
    }
    look: Look = {"legend": {"loc": "upper left"}, "more": f"{listed}."}
    return finish(
        ax, "Error of Winograd's convolution over its tile", found, title, **names, **look
    )
