"""How a loss falls in half precision, and what the loss scale does meanwhile: two panels.

Above the loss, below the scale, both over the steps of training and logarithmic. What to look at:
each halving of the scale is a step that overflowed and was skipped; the loss hardly notices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_teach.plots.style import ALGORITHM_COLOURS, Picture, describe, in_style

COLOURS = tuple(ALGORITHM_COLOURS.values())


@in_style
def plot_loss_scale(
    runs: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, title: str | None = None
) -> Figure:
    """Draw runs, by name: (loss before each step, scale in each step)."""
    figure = Picture(figsize=(9.0, 4.6))
    above, below = figure.subplots(2, sharex=True, height_ratios=(3, 2))
    for place, (name, (losses, scales)) in enumerate(runs.items()):
        colour = COLOURS[place % len(COLOURS)]
        above.semilogy(np.arange(len(losses)), losses, color=colour, label=name)
        below.semilogy(np.arange(len(scales)), scales, color=colour, base=2)
    for axes, words in ((above, "loss"), (below, "loss scale")):
        axes.set_ylabel(words)
        axes.grid(True)
    below.set_xlabel("step of training")
    above.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    found = finding(runs)
    above.set_title(found if title is None else title)
    describe(figure, f"Loss and loss scale over the steps of training. {found}.")
    return figure


def finding(runs: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> str:
    """How far each loss came, in one line."""
    said = []
    for name, (losses, _) in runs.items():
        fell = losses[0] / losses[-1]
        said.append(
            f"{name}: " + ("nothing is learned" if fell <= 1 else f"{fell:.3g} times less")
        )
    return "Loss at the end: " + "; ".join(said)
