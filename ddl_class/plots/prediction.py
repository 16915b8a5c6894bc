"""What you said, and what came out: one number from several sources, one below the other.

The last source is the judge. Its band reaches to the factor within which a prediction counts as a
good one. A formula is a line, a simulation a hollow square, a measurement a filled dot. What to
look at: whether only you were off, or the formula too.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from ddl_class.plots.frame import need, plane
from ddl_runtime.pictures.style import Look, in_style

COLOURS = {"you": "#ee7733", "computed": "#333333", "simulated": "#009988", "measured": "#4477aa"}
MARKERS = {"you": "D", "computed": "|", "simulated": "s", "measured": "o"}
OTHER = "#aa3377"
BAND = "#e8eef5"


@in_style
def plot_prediction(
    said: float, found: Mapping[str, float], quantity: str, *, close: float = 2.0
) -> Figure:
    """Draw a committed number beside what was `found`, by source: `computed`, `simulated`, ...

    The last source decides. `quantity` is what the number counts, as in "bytes".
    """
    need(found, "nothing was found yet: give at least a measured number")
    numbers = {"you": said, **found}
    *_, (judge, truth) = found.items()
    ax = plane(quantity, height=1.1 + 0.42 * len(numbers), width=8.0)
    least, most = min(numbers.values()), max(numbers.values())
    if least > 0:
        ax.log_scale("x", amount, subs=(1.0,) if most > 1000 * least else (1.0, 2.0, 5.0))
        ax.set_xlim(min(least, truth / close) / 1.6, max(most, truth * close) * 1.6)
        ax.axvspan(truth / close, truth * close, color=BAND, zorder=0)
    ax.axvline(truth, color=COLOURS.get(judge, OTHER), linewidth=1.2, linestyle=":")
    halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    for row, (name, number) in enumerate(numbers.items()):
        colour = COLOURS.get(name, OTHER)
        inside = "none" if name == "simulated" else colour
        look: Look = {"color": colour, "markerfacecolor": inside, "markeredgewidth": 2}
        ax.plot(number, row, MARKERS.get(name, "o"), markersize=10, **look)
        ax.note(amount(number), (number, row), (9, 0), va="center", fontsize=10, bbox=halo)
    ax.name_rows(numbers)
    words = finding(said, judge, truth, quantity, close)
    listed = ", ".join(f"{name} {amount(number)}" for name, number in numbers.items())
    return ax.finish(words, f"By source: {listed} {quantity}", words, grid="")


def finding(said: float, judge: str, truth: float, quantity: str, close: float) -> str:
    """How good a prediction was, in one line."""
    both = f"You said {amount(said)}, {judge} {amount(truth)} {quantity}"
    if said == truth:
        return f"{both}: exactly right"
    if said <= 0 or truth <= 0:
        return f"{both}: {amount(abs(said - truth))} too {'high' if said > truth else 'low'}"
    factor = max(said / truth, truth / said)
    if factor <= close:
        return f"{both}: within a factor of {close:g}"
    return f"{both}: {amount(factor)} times too {'high' if said > truth else 'low'}"


def amount(number: float) -> str:
    """A number of any size as one would write it down.

    >>> amount(50_000), amount(0.03456)
    ('50,000', '0.0346')
    """
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
