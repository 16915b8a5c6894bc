"""How large numbers are, beside the range of a format: a histogram over powers of two.

Between the two lines lies what the format holds; left of the grey line numbers lose bits, and left
of the left one they are zero. What to look at: how much of a histogram lies outside, and how much
of the range is not used at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_teach.plots.style import ALGORITHM_COLOURS, INK, describe, in_style, new_axes

COLOURS = tuple(ALGORITHM_COLOURS.values())
NARROW = 0.5  # powers of two in a bar


@in_style
def plot_magnitudes(
    samples: Mapping[str, Sequence[float]], *, smallest: float, smallest_normal: float,
    largest: float, name: str = "float16", title: str | None = None,
) -> Figure:  # fmt: skip
    """Draw how large the numbers of each sample are, and a format's range by its three numbers."""
    ax = new_axes(9.0, 3.8)
    sizes = {label: np.abs(np.ravel(np.asarray(x, float))) for label, x in samples.items()}
    powers = {label: np.log2(x[x > 0]) for label, x in sizes.items()}
    if not any(len(some) for some in powers.values()):
        raise ValueError("all numbers are zero: a logarithm of them does not exist")
    edges = np.log2([smallest / 2, smallest_normal, largest])
    low = min([edges[0] - 2, *(some.min() for some in powers.values() if len(some))])
    high = max([edges[2] + 2, *(some.max() for some in powers.values() if len(some))])
    bins = np.arange(np.floor(low), np.ceil(high) + NARROW, NARROW)
    for place, (label, some) in enumerate(powers.items()):
        colour, whole = COLOURS[place % len(COLOURS)], max(1, len(sizes[label]))
        weights = np.full(len(some), 1 / whole)
        ax.hist(some, bins, weights=weights, color=colour, alpha=0.6, label=label)
    for place, words in zip(edges, ("zero\nbelow", "fewer bits\nbelow", "infinite\nabove"),
                            strict=True):  # fmt: skip
        ax.axvline(place, color=INK, linewidth=1.6, alpha=0.4 if place == edges[1] else 1.0)
        ax.annotate(words, (place, 0.98), xycoords=("data", "axes fraction"), va="top",
                    xytext=(3, 0), textcoords="offset points", fontsize=8, color=INK)  # fmt: skip
    ax.xaxis.set_major_formatter(lambda power, _: f"$2^{{{power:.0f}}}$")
    ax.set_ylim(top=1.18 * ax.get_ylim()[1])  # room for the words
    ax.set_xlabel("size of a number")
    ax.set_ylabel("share of all numbers")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    found = finding(sizes, smallest, largest, name)
    ax.set_title(found if title is None else title)
    describe(ax.figure, f"Histogram of magnitudes beside the range of {name}. {found}.")
    return ax.figure


def finding(sizes: Mapping[str, np.ndarray], smallest: float, largest: float, name: str) -> str:
    """What becomes zero or infinite, in one line."""
    said = []
    for label, some in sizes.items():
        zero, infinite = np.mean(some <= smallest / 2), np.mean(some > largest)
        lost = f"{100 * zero:.0f}% become zero" + (
            f" and {100 * infinite:.0f}% infinite" if infinite else ""
        )
        said.append(f"{label}, {lost}")
    return f"In {name}: {'; '.join(said)}"
