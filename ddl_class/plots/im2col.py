"""im2col: an image, and the matrix in which each output has its column.

A pixel has the same colour and number in both. What to look at: how often a colour comes back; so
many times as much memory the matrix takes.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.frame import finish_panels, panels
from ddl_class.plots.tables import part_pixels, write_numbers_into
from ddl_runtime.pictures.style import in_style

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
    height = 0.9 + 0.36 * max(image.shape[0], matrix.shape[0], 6)
    widths = [image.shape[1], matrix.shape[1]]
    left, right = axes = panels(9.5, height, columns=2, width_ratios=widths)
    low, high = image.min(), image.max()
    for ax, numbers in zip(axes, (image, matrix), strict=True):
        ax.imshow(numbers, cmap="viridis", vmin=low, vmax=high, alpha=0.75, aspect="auto")
        small = 9 if numbers.shape[1] <= 12 else 7
        write_numbers_into(ax, numbers, (low + high) / 2, fontsize=small)
        part_pixels(ax, numbers.shape, width=1.2)
        ax.spines[:].set_visible(False)
    left.set_xlabel("the image")
    right.set_xlabel("a column for each output")
    right.set_ylabel("a row for each weight")
    found = (
        f"{image.size} pixels become {matrix.shape[0]} x {matrix.shape[1]} = {matrix.size} "
        f"numbers: {matrix.size / image.size:.3g} times the memory"
    )
    rows = "; ".join(" ".join(f"{number:g}" for number in row) for row in matrix[:3])
    more = f"The matrix begins with {rows}."
    return finish_panels(axes, "An image and its im2col matrix", found, title, more=more)
