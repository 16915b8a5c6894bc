"""What you said, and what came out: one number from several sources, one below the other.

The last source is the judge. Its band reaches to the factor within which a prediction counts as a
good one. What to look at: whether only you were off, or the formula too.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ddl_teach.plots.style import INK, describe, in_style, new_axes

COLOURS = {"you": "#ee7733", "formula": "#333333", "simulated": "#009988", "measured": "#4477aa"}
OTHER = "#aa3377"
BAND = "#e8eef5"


@in_style
def plot_prediction(
    said: float, found: Mapping[str, float], quantity: str, *, close: float = 2.0
) -> Figure:
    """Draw a committed number beside what was `found`, by source: `formula`, `simulated`, ...

    The last source decides. `quantity` is what the number counts, as in "bytes".
    """
    if not found:
        raise ValueError("nothing was found yet: give at least a measured number")
    numbers = {"you": said, **found}
    *_, (judge, truth) = found.items()
    rows = {name: row for row, name in enumerate(reversed(numbers))}
    ax = new_axes(8.0, 1.1 + 0.42 * len(rows))
    if min(numbers.values()) > 0:
        ax.set_xscale("log")
        least, most = min(numbers.values()), max(numbers.values())
        ax.set_xlim(min(least, truth / close) / 1.6, max(most, truth * close) * 1.6)
        ax.axvspan(truth / close, truth * close, color=BAND, zorder=0)
        steps = (1.0,) if most > 1000 * least else (1.0, 2.0, 5.0)
        ax.xaxis.set_major_locator(LogLocator(subs=steps))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: amount(number)))
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.axvline(truth, color=COLOURS.get(judge, OTHER), linewidth=1.2, linestyle=":")
    for name, number in numbers.items():
        ax.plot(number, rows[name], "o", markersize=10, color=COLOURS.get(name, OTHER))
        place = {"xytext": (9, 0), "textcoords": "offset points", "va": "center"}
        halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
        ax.annotate(amount(number), (number, rows[name]), color=INK, bbox=halo, **place)
    ax.set_yticks(list(rows.values()), list(rows))
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(quantity)
    words = finding(said, judge, truth, quantity, close)
    ax.set_title(words)
    listed = ", ".join(f"{name} {amount(number)}" for name, number in found.items())
    describe(ax.figure, f"{words}. By source: you {amount(said)}, {listed} {quantity}.")
    return ax.figure


def finding(said: float, judge: str, truth: float, quantity: str, close: float) -> str:
    """How good a prediction was, in one line."""
    both = f"You said {amount(said)}, {judge} {amount(truth)} {quantity}"
    if said == truth:
        return f"{both}: exactly right"
    if said <= 0 or truth <= 0:
        return f"{both}: {amount(abs(said - truth))} too {'high' if said > truth else 'low'}"
    factor = max(said / truth, truth / said)
    if factor <= close:
        return f"{both}: well predicted"
    return f"{both}: {amount(factor)} times too {'high' if said > truth else 'low'}"


def amount(number: float) -> str:
    """A number of any size as one would write it down.

    >>> amount(50_000), amount(0.03456)
    ('50,000', '0.0346')
    """
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
