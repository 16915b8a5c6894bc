"""Is it right? The error of a gradient check over its step, and how far rules walk apart.

Both axes of both pictures but the steps are logarithmic. What to look at: a check has a best step,
between the curve that it takes for a line and the digits that it loses; a rule that is another one
leaves at once, and one that is the same stays at rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ddl_class.plots.frame import finish
from ddl_runtime.pictures.style import INK, Look, in_style, new_axes, rank_colour

ROUNDING = 1e-17  # what is less is drawn here: zero has no place on a logarithmic axis


@in_style
def plot_checks(
    steps: Sequence[float], errors: Mapping[str, Sequence[float]], *, title: str | None = None,
    ax: Axes | None = None,
) -> Figure:  # fmt: skip
    """Draw relative errors of gradient checks over the step of their differences, by name."""
    ax = new_axes(9.0, 4.0) if ax is None else ax
    for number, (name, row) in enumerate(errors.items()):
        ax.plot(steps, np.maximum(row, ROUNDING), "o-", color=rank_colour(number), label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    found = "Least errors: " + ", ".join(
        f"{name} {np.min(row):.0e} at h = {steps[int(np.argmin(row))]:.0e}"
        for name, row in errors.items()
    )
    names: Look = {"x": "step h of the differences", "y": "relative error"}
    return finish(ax, "Errors of gradient checks", found, title, **names, legend={})


@in_style
def plot_apart(
    walks: Mapping[str, Sequence[float]], *, good: float, title: str | None = None,
    ax: Axes | None = None,
) -> Figure:  # fmt: skip
    """Draw how far each rule is from the reference, relative to the way gone, over the steps."""
    ax = new_axes(9.0, 3.8) if ax is None else ax
    for number, (name, walk) in enumerate(walks.items()):
        steps = range(1, len(walk) + 1)
        ax.plot(steps, np.maximum(walk, ROUNDING), ".-", color=rank_colour(number), label=name)
    ax.axhline(good, color=INK, linestyle="--", linewidth=1.2)
    ax.set_yscale("log")
    stay = [name for name, walk in walks.items() if max(walk) <= good]
    leave = [name for name in walks if name not in stay]
    same, other = (", ".join(names) or "nobody" for names in (stay, leave))
    found = f"The same as the reference: {same}; not: {other}"
    names: Look = {"x": "step", "y": "apart, over the way gone"}
    return finish(ax, "How far rules walk apart", found, title, **names, legend={})
