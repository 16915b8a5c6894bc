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

from ddl_class.plots.frame import finish_panels, panels
from ddl_class.plots.tables import part_pixels
from ddl_runtime.pictures.style import in_style

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
    axes = panels(2.6 * len(bad) + 0.4, 3.2, columns=len(bad))
    for ax, (name, image) in zip(axes, bad.items(), strict=True):
        ax.imshow(image, cmap=ListedColormap([GOOD, BAD]), vmin=0, vmax=1)
        ax.set_title(f"{name}: {image.sum():,}", weight="normal", size=10)
        part_pixels(ax, image.shape, width=0.8)
    listed = ", ".join(f"{image.sum():,} by {name}" for name, image in bad.items())
    found, about = (
        f"One bad pixel spoils outputs: {listed}",
        "Outputs that one bad pixel spoils, in red",
    )
    return finish_panels(axes, about, found, title)
