"""How far sums in a short format are off, over the number of their terms.

A colour is a way to sum: dots are errors as shares of the sum of absolute values, the dotted line
of the same colour is the bound that theory gives. Both axes are logarithmic: slope 1 is n, slope
1/2 is sqrt(n), flat is a sum that does not mind. What to look at: who leaves the ground.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.curves import Curves, bright
from ddl_class.plots.frame import BESIDE, extremes, finish, note
from ddl_runtime.pictures.style import INK, Look, in_style, new_axes, spoken


@in_style
def plot_sum_errors(
    errors: Curves, bounds: Curves | None = None, *, unit_roundoff: float, title: str | None = None
) -> Figure:
    """Draw errors, by the name of the way to sum: (terms, relative errors); bounds likewise."""
    ax = new_axes(9.0, 4.4)
    ax.set_xscale("log")
    ax.set_yscale("log")
    # Zero has no place on a logarithmic axis: what is right is drawn on its lower edge.
    floor = unit_roundoff / 30
    for place, (name, (terms, wrong)) in enumerate(errors.items()):
        look: Look = {"color": bright(name, place)}
        ax.plot(terms, np.maximum(wrong, floor), "o-", label=spoken(name, True), ms=5, **look)
        if bounds and name in bounds:
            ax.plot(*bounds[name], ":", linewidth=1.3, **look)
    ax.axhline(unit_roundoff, color=INK, linewidth=0.8)
    right: Look = {"xycoords": ("axes fraction", "data"), "ha": "right"}
    note(ax, "one rounding", (1.0, unit_roundoff), (-4, 3), **right)
    ax.set_ylim(floor / 1.5, 2.0)
    most = max(max(terms) for terms, _ in errors.values())
    last = {name: np.asarray(wrong)[np.argmax(terms)] for name, (terms, wrong) in errors.items()}
    best, worst = extremes(last)
    found = (
        f"Of {most:,.0f} terms, {spoken(worst)} loses {100 * last[worst]:.2g}%, "
        f"{spoken(best)} {100 * last[best]:.2g}%"
    )
    about = "Relative error of a sum over its terms; dotted lines are bounds"
    names: Look = {"x": "terms of the sum", "y": "error / sum of absolute values"}
    return finish(ax, about, found, title, **names, legend=BESIDE)
