"""Honest pictures: the one that fools beside the one that does not; and checks of being right.

What to look at: both pictures are true. A gradient check has a best step, between the curve that
it takes for a line and the digits that it loses; a rule that is another one leaves at once, and
one that is the same stays at rounding.
"""

from collections.abc import Mapping

import numpy as np
from matplotlib.ticker import MaxNLocator

from ddl_class.plots.frame import BRIGHT, Numbers, Plane, Series, panels, plane
from ddl_measure.reports.twelve_ways.trick import Panel, ReportedCurve, Trick
from ddl_runtime.pictures.style import INK, Look, Picture

FOOLS, HONEST = "#bb3344", "#1e7a2d"  # dark enough for letters
ROUNDING = 1e-17  # what is less is drawn here: zero has no place on a logarithmic axis


def plot_fooling(fools: Panel, honest: Panel, *, title: str = "") -> Picture:
    """Draw both, beside each other."""
    axes = panels(10.5, 4.0, columns=2)
    claims = ((fools, FOOLS, "This one fools"), (honest, HONEST, "This one does not"))
    for ax, (panel, colour, claim) in zip(axes, claims, strict=True):
        _draw_panel(ax, panel)
        ax.set_title(panel.title, fontsize=10)
        look: Look = {"color": colour, "weight": "bold", "fontsize": 10}
        ax.note(claim, (0, 1), (0, 26), xycoords="axes fraction", **look)
        ax.spines[["left", "bottom"]].set(color=colour, linewidth=2.0)
    words = f"Right, what does not: {honest.title}"
    return axes[0].finish_all(f"Left, what fools: {fools.title}", words, title)


def plot_trick(trick: Trick) -> Picture:
    """Draw one of the twelve ways, with its name."""
    return plot_fooling(trick.fools, trick.honest, title=f"Way {trick.way}: {trick.name}")


def plot_panel(panel: Panel) -> Picture:
    """Draw one of them alone."""
    ax = plane(height=3.8, width=6.5)
    _draw_panel(ax, panel)
    return ax.finish(f"{panel.y} over {panel.x or 'names'}", panel.title, grid="")


def _draw_panel(ax: Plane, panel: Panel) -> None:
    names = [place for line in panel.lines for place in line.x if isinstance(place, str)]
    if names:
        _bars(ax, panel, list(dict.fromkeys(names)))
    else:
        _lines(ax, panel)
    ax.set(xlabel=panel.x, ylabel=panel.y)
    if len(panel.lines) > 1:
        ax.legend(loc="best")


def _bars(ax: Plane, panel: Panel, names: list[str]) -> None:
    width = 0.7 / len(panel.lines)
    for number, line in enumerate(panel.lines):
        shift = (number - (len(panel.lines) - 1) / 2) * width
        places = np.array([names.index(str(name)) for name in line.x]) + shift
        ends = _ends(line)
        look: Look = {"color": BRIGHT[number], "error_kw": {"ecolor": INK, "capsize": 3}}
        ax.bar(places, line.y, 0.92 * width, label=line.name, yerr=ends, **look)
        tops = line.y if ends is None else line.high
        for place, value, top in zip(places, line.y, tops, strict=True):
            ax.note(f"{value:.3g}", (place, top), (0, 2), ha="center")
    ax.set_xticks(range(len(names)), names)
    room = 0.6 + (len(names) == 1)
    ax.set_xlim(-room, len(names) - 1 + room)
    ax.margins(y=0.18)


def _lines(ax: Plane, panel: Panel) -> None:
    colours = iter(BRIGHT)
    for line in panel.lines:
        if line.ideal:
            ax.plot(line.x, line.y, "--", color="#999999", linewidth=1.2, label=line.name)
            continue
        joined = list(line.x) == sorted(line.x)  # points in no order are no trend
        look: Look = {"color": next(colours), "markersize": 5, "capsize": 2, "label": line.name}
        ax.errorbar(line.x, line.y, _ends(line), fmt="o-" if joined else "o", **look)
    ax.grid(True)
    places = {float(place) for line in panel.lines for place in line.x}
    if not panel.logarithmic:
        if all(place.is_integer() for place in places):
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    powers_of_two = all(np.log2(place).is_integer() for place in places)
    ax.log_scale("x", base=2 if powers_of_two else 10, subs=(1.0,))
    if any(line.ideal for line in panel.lines):
        ax.log_scale("y", base=2)


def _ends(line: ReportedCurve) -> np.ndarray | None:
    if not line.low:
        return None
    middle = np.asarray(line.y)
    return np.maximum(0, [middle - line.low, np.asarray(line.high) - middle])


def plot_checks(steps: Numbers, errors: Series) -> Picture:
    """Draw relative errors of gradient checks over the step of their differences, by name."""
    ax = plane("step h of the differences", "relative error", 4)
    drawn = {name: (steps, np.maximum(row, ROUNDING)) for name, row in errors.items()}
    ax.draw_lines(drawn, marker="o")
    ax.set(xscale="log", yscale="log")
    takeaway = "Least errors: " + ", ".join(
        f"{name} {np.min(row):.0e} at h = {steps[int(np.argmin(row))]:.0e}"
        for name, row in errors.items()
    )
    return ax.finish("Errors of gradient checks", takeaway, legend={})


def plot_apart(walks: Series, *, good: float) -> Picture:
    """Draw how far each rule is from the reference, relative to the way gone, over the steps."""
    ax = plane("step", "apart, over the way gone", 3.8)
    far = {name: np.maximum(walk, ROUNDING) for name, walk in walks.items()}
    ax.draw_runs(far, first=1, marker=".")
    ax.axhline(good, color=INK, linestyle="--", linewidth=1.2)
    ax.set_yscale("log")
    stay = [name for name, walk in walks.items() if max(walk) <= good]
    leave = [name for name in walks if name not in stay]
    same, other = (", ".join(names) or "nobody" for names in (stay, leave))
    takeaway = f"The same as the reference: {same}; not: {other}"
    return ax.finish("How far rules walk apart", takeaway, legend={})


def plot_floors(floors: Mapping[str, float], bugs: Mapping[str, float]) -> Picture:
    """Draw for each number format the errors that rounding makes, and over them those of bugs."""
    ax = plane("relative error of the gradient", height=1.6 + 0.6 * len(floors))
    left = 0.1 * min(*floors.values(), *bugs.values())
    for row, floor in enumerate(floors.values()):
        for reach, colour in ((3 * floor, "#eeeeee"), (floor, "#c4c4c4")):
            ax.barh(row, reach - left, left=left, height=0.55, color=colour)
        ax.note(f"{floor:.0e}", (floor, row), (-4, 0), ha="right", va="center")
    for number, (name, size) in enumerate(bugs.items()):
        look: Look = {"color": BRIGHT[number], "linewidth": 2.2, "label": name}
        ax.plot([size, size], [-0.5, len(floors) - 0.5], **look)
    ax.set_xscale("log")
    ax.set_xlim(left, 2)
    ax.name_rows(floors)
    hidden = {
        name: sum(size < 3 * floor for size in bugs.values()) for name, floor in floors.items()
    }
    counts = ", ".join(f"{name} {count}" for name, count in hidden.items())
    more = "Grey: what rounding makes; pale: three times that. A line: the error of a bug."
    about = "Errors of bugs beside those of rounding"
    takeaway = f"Of {len(bugs)} bugs below three floors: {counts}"
    return ax.finish(about, takeaway, grid="x", legend="beside", more=more)
