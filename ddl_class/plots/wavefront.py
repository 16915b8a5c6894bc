"""Turns over a grid of cells: layers up, steps to the right, the number of its turn in each cell.

A cell needs the one below it and the one to its left. A colour is a turn; a cell that is computed
together with one that it needs, or before it, is crossed out, and one that is never computed stays
white. What to look at: diagonals of one colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ddl_class.plots.frame import finish
from ddl_class.plots.tables import write_numbers_into
from ddl_runtime.pictures.style import Look, in_style, new_axes

COLOURS = "viridis"
MOST_NUMBERED = 240  # cells
WRONG = "#ee3377"


@in_style
def plot_wavefronts(
    turns: Iterable[Sequence[tuple[int, int]]], layers: int, steps: int, *,
    title: str | None = None,
) -> Figure:  # fmt: skip
    """Draw in which turn each cell (layer, step) of a grid is computed."""
    turns = [list(turn) for turn in turns]
    turn_of = np.full((layers, steps), np.nan)
    for number, cells in enumerate(turns):
        for layer, step in cells:
            if not (0 <= layer < layers and 0 <= step < steps):
                raise ValueError(
                    f"turn {number} holds the cell ({layer}, {step}); layers are 0 to "
                    f"{layers - 1} and steps 0 to {steps - 1}, and a cell is (layer, step)"
                )
            turn_of[layer, step] = number
    ax = new_axes(9.0, min(1.3 + 0.42 * layers, 5.5))
    look: Look = {"origin": "lower", "aspect": "auto", "vmin": 0, "vmax": max(len(turns) - 1, 1)}
    image = ax.imshow(turn_of, cmap=COLOURS, **look)
    if turn_of.size <= MOST_NUMBERED:
        write_numbers_into(ax, turn_of, 0.6 * len(turns), fontsize=9)
    else:
        ax.figure.colorbar(image, ax=ax, label="turn")
    early = too_early(turn_of)
    ax.plot(early[:, 1], early[:, 0], "x", color=WRONG, markersize=16, markeredgewidth=3)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator("auto", integer=True))
    widest, missing = max(map(len, turns)), int(np.isnan(turn_of).sum())
    found = f"{turn_of.size} cells in {len(turns)} turns, at most {widest} of them at once"
    if missing:
        found = f"{missing} of {turn_of.size} cells are never computed"
    elif len(early):
        found = f"{len(early)} of {turn_of.size} cells come before one that they need"
    about = f"A grid of {layers} layers and {steps} steps"
    return finish(ax, about, found, title, x="step", y="layer", grid="")


def too_early(turn_of: np.ndarray) -> np.ndarray:
    """The cells (layer, step) that are computed when one that they need is not done yet."""
    wrong = np.zeros(turn_of.shape, bool)
    computed = ~np.isnan(turn_of)
    # A comparison with nan, which stands for a cell that is never computed, is not true.
    wrong[1:] |= ~(turn_of[:-1] < turn_of[1:])
    wrong[:, 1:] |= ~(turn_of[:, :-1] < turn_of[:, 1:])
    return np.argwhere(wrong & computed)
