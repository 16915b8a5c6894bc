"""How far one bad pixel spreads: the outputs that are no numbers any more, by method.

A direct convolution spoils the outputs that see the pixel; who mixes pixels before he multiplies
spoils all that were mixed. What to look at: the size of the blot is the size of what a method
transforms at once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from ddl_teach.plots.style import Picture, describe, in_style, part_pixels

GOOD, BAD = "#dfe8f2", "#cc3311"


@in_style
def plot_spread(outputs: Mapping[str, np.ndarray], *, title: str | None = None) -> Figure:
    """Draw one output image of each method; numbers that are not finite are the bad ones."""
    if not outputs:
        raise ValueError("nothing to draw: give the output of at least one method")
    bad = {name: ~np.isfinite(np.asarray(image)) for name, image in outputs.items()}
    for name, image in bad.items():
        if image.ndim != 2:
            raise ValueError(f"{name} has shape {image.shape}: give one image, of two axes")
    figure = Picture(figsize=(2.6 * len(bad) + 0.4, 3.2))
    axes = figure.subplots(1, len(bad), squeeze=False)[0]
    for ax, (name, image) in zip(axes, bad.items(), strict=True):
        ax.imshow(image, cmap=ListedColormap([GOOD, BAD]), vmin=0, vmax=1)
        ax.set_title(f"{name}: {image.sum():,}", weight="normal", size=10)
        part_pixels(ax, image.shape, width=0.8)
    found = finding({name: int(image.sum()) for name, image in bad.items()})
    figure.suptitle(found if title is None else title, x=0.01, ha="left", weight="bold", size=11.5)
    describe(figure, f"Outputs that one bad pixel spoils, in red. {found}.")
    return figure


def finding(spoiled: Mapping[str, int]) -> str:
    """How many outputs are lost, in one line."""
    listed = ", ".join(f"{count:,} by {name}" for name, count in spoiled.items())
    return f"One bad pixel spoils outputs: {listed}"
