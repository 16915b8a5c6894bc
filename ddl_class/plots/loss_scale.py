"""How a loss falls in half precision, and what the loss scale does meanwhile: two panels.

Above the loss, below the scale, both over the steps of training and logarithmic. What to look at:
each halving of the scale is a step that overflowed and was skipped; the loss hardly notices.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from ddl_class.plots.curves import bright
from ddl_class.plots.frame import BESIDE, finish, panels
from ddl_runtime.pictures.style import Points, in_style


@in_style
def plot_loss_scale(runs: Mapping[str, Points], *, title: str | None = None) -> Figure:
    """Draw runs, by name: (loss before each step, scale in each step)."""
    above, below = panels(9.0, 4.6, rows=2, sharex=True, height_ratios=(3, 2))
    ends = []
    for place, (name, (losses, scales)) in enumerate(runs.items()):
        above.semilogy(losses, color=bright(name, place), label=name)
        below.semilogy(scales, color=bright(name, place), base=2)
        fell = losses[0] / losses[-1]
        ends.append(f"{name}: {'nothing is learned' if fell <= 1 else f'{fell:.3g} times less'}")
    below.set(xlabel="step of training", ylabel="loss scale")
    below.grid(True)
    found, about = (
        f"Loss at the end: {'; '.join(ends)}",
        "Loss and loss scale over the steps of training",
    )
    return finish(above, about, found, title, y="loss", legend=BESIDE)
