"""im2col: an image, and the matrix in which each output has its column.

A pixel has the same colour and number in both. What to look at: how often a colour comes back; so
many times as much memory the matrix takes.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_teach.plots.style import INK, Picture, describe, in_style, part_pixels

LARGEST = 25 * 30  # numbers that one can still read


@in_style
def plot_im2col(image: np.ndarray, matrix: np.ndarray, *, title: str | None = None) -> Figure:
    """Draw an `image` of whole numbers and the `matrix` that was made of it."""
    image, matrix = np.atleast_2d(image), np.atleast_2d(matrix)
    for name, numbers in {"image": image, "matrix": matrix}.items():
        if numbers.ndim != 2 or not 0 < numbers.size <= LARGEST:
            raise ValueError(
                f"{name} has shape {numbers.shape}: give one with two axes and at most {LARGEST} "
                "numbers, of one image and one channel"
            )
    figure = Picture(figsize=(9.5, 0.9 + 0.36 * max(image.shape[0], matrix.shape[0], 6)))
    widths = [image.shape[1], matrix.shape[1]]
    left, right = figure.subplots(1, 2, width_ratios=widths)
    edges = image.min(), image.max()
    _draw(left, image, edges)
    _draw(right, matrix, edges)
    left.set_xlabel("the image")
    right.set_xlabel("a column for each output")
    right.set_ylabel("a row for each weight")
    found = finding(image, matrix)
    figure.suptitle(found if title is None else title, x=0.01, ha="left", weight="bold", size=11.5)
    rows = "; ".join(" ".join(f"{number:g}" for number in row) for row in matrix[:3])
    describe(figure, f"An image and its im2col matrix. {found}. The matrix begins with {rows}.")
    return figure


def finding(image: np.ndarray, matrix: np.ndarray) -> str:
    """How much memory the matrix takes, in one line."""
    factor = matrix.size / image.size
    return (
        f"{image.size} pixels become {matrix.shape[0]} x {matrix.shape[1]} = {matrix.size} "
        f"numbers: {factor:.3g} times the memory"
    )


def _draw(ax: Axes, numbers: np.ndarray, edges: tuple[float, float]) -> None:
    ax.imshow(numbers, cmap="viridis", vmin=edges[0], vmax=edges[1], alpha=0.75, aspect="auto")
    middle = (edges[0] + edges[1]) / 2
    small = 9 if numbers.shape[1] <= 12 else 7
    for (row, column), number in np.ndenumerate(numbers):
        if np.isfinite(number):
            ink = INK if number > middle else "white"
            ax.text(column, row, f"{number:.0f}", ha="center", va="center", color=ink, size=small)
    part_pixels(ax, numbers.shape, width=1.2)
    for spine in ax.spines.values():
        spine.set_visible(False)
