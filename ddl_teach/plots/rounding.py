"""How far sums in a short format are off, over the number of their terms.

A colour is a way to sum: dots are errors as shares of the sum of absolute values, the dotted line
of the same colour is the bound that theory gives. Both axes are logarithmic: slope 1 is n, slope
1/2 is sqrt(n), flat is a sum that does not mind. What to look at: who leaves the ground.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_teach.plots.style import ALGORITHM_COLOURS, INK, describe, in_style, new_axes, spoken

COLOURS = tuple(ALGORITHM_COLOURS.values())
Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


@in_style
def plot_sum_errors(
    errors: Curves, bounds: Curves | None = None, *, unit_roundoff: float,
    title: str | None = None,
) -> Figure:  # fmt: skip
    """Draw errors, by the name of the way to sum: (terms, relative errors); bounds likewise."""
    ax = new_axes(9.0, 4.4)
    ax.set_xscale("log")
    ax.set_yscale("log")
    # Zero has no place on a logarithmic axis: what is right is drawn on its lower edge.
    floor = unit_roundoff / 30
    for place, (name, (terms, wrong)) in enumerate(errors.items()):
        colour = COLOURS[place % len(COLOURS)]
        shown = np.maximum(np.asarray(wrong, float), floor)
        ax.plot(terms, shown, "o-", color=colour, label=spoken(name, True), markersize=5)
        if bounds and name in bounds:
            ax.plot(*bounds[name], ":", color=colour, linewidth=1.3)
    ax.axhline(unit_roundoff, color=INK, linewidth=0.8)
    ax.annotate(
        "one rounding", (1.0, unit_roundoff), xycoords=("axes fraction", "data"), color=INK,
        xytext=(-4, 3), textcoords="offset points", ha="right", fontsize=9,
    )  # fmt: skip
    ax.set_ylim(floor / 1.5, 2.0)
    ax.grid(True)
    ax.set_xlabel("terms of the sum")
    ax.set_ylabel("error / sum of absolute values")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    found = finding(errors)
    ax.set_title(found if title is None else title)
    describe(
        ax.figure, f"Relative error of a sum over its terms; dotted lines are bounds. {found}."
    )
    return ax.figure


def finding(errors: Curves) -> str:
    """The worst and the best at the largest number of terms, in one line."""
    most = max(max(terms) for terms, _ in errors.values())
    last = {
        name: float(np.asarray(wrong)[np.argmax(terms)]) for name, (terms, wrong) in errors.items()
    }
    worst, best = max(last, key=last.get), min(last, key=last.get)
    return (
        f"Of {most:,.0f} terms, {spoken(worst)} loses {share(last[worst])}, "
        f"{spoken(best)} {share(last[best])}"
    )


def share(part: float) -> str:
    """A share in percent, as short as it can be said.

    >>> share(0.59), share(0.00071), share(0.0)
    ('59%', '0.071%', '0%')
    """
    return f"{100 * part:.2g}%"
