"""What became of several networks: each way of making one answer, with a dot for each seed.

Lower is better, and a bar stands at the median. What to look at: which ways of making one network
of several are worse than a single one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.frame import extremes, finish, in_percent, log_scale, note
from ddl_runtime.pictures.style import INK, in_style, new_axes, rank_colour

SPREAD = 0.22  # of a column: dots of one way beside each other
NO_ERROR = 1e-3  # where a network is drawn that makes none


@in_style
def plot_consolidated(
    accuracies: Mapping[str, Sequence[float]],
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the accuracies of each way, one for each seed."""
    if not accuracies:
        raise ValueError("nothing to draw: give the accuracies of at least one way")
    ax = new_axes(9.0, 4.2) if ax is None else ax
    middle = {name: float(np.median(values)) for name, values in accuracies.items()}
    for column, (name, values) in enumerate(accuracies.items()):
        # On a logarithmic axis of errors the good ones, all near 100%, can be told apart.
        wrong = np.maximum(1 - np.asarray(values), NO_ERROR)
        aside = np.linspace(-SPREAD, SPREAD, len(wrong)) if len(wrong) > 1 else np.zeros(1)
        ax.plot(column + aside, wrong, "o", color=rank_colour(column), markersize=4)
        ax.plot([column - 0.36, column + 0.36], [np.median(wrong)] * 2, color=INK)
        note(ax, f"{middle[name]:.1%}", (column, wrong.max()), (0, 6), ha="center")
    log_scale(ax, "y")
    in_percent(ax.yaxis)
    ax.margins(y=0.12)
    ax.set_xticks(range(len(accuracies)), [name.replace(" ", "\n") for name in accuracies])
    worst, best = extremes(middle)
    found = f"Best: {best}, {middle[best]:.1%}; worst: {worst}, {middle[worst]:.1%}"
    about = "Accuracies on pictures held out, by what was made of them"
    x = "what is made of the networks   (dot: a seed, bar: median, number: recognised)"
    y = "not recognised, of pictures held out"
    return finish(ax, about, found, title, x=x, y=y, grid="y")
