"""How large numbers are, beside the range of a format: a histogram over powers of two.

Between the two lines lies what the format holds; left of the grey line numbers lose bits, and left
of the left one they are zero. What to look at: how much of a histogram lies outside, and how much
of the range is not used at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.curves import bright
from ddl_class.plots.frame import BESIDE, finish, mark, write_numbers
from ddl_runtime.pictures.style import Look, in_style, new_axes

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
    every = np.concatenate([*powers.values()])
    if not len(every):
        raise ValueError("all numbers are zero: a logarithm of them does not exist")
    zero, normal, most = edges = np.log2([smallest / 2, smallest_normal, largest])
    low, high = min(zero - 2, every.min()), max(most + 2, every.max())
    bins = np.arange(np.floor(low), np.ceil(high) + NARROW, NARROW).tolist()
    said = []
    for place, (label, some) in enumerate(powers.items()):
        whole = sizes[label]
        look: Look = {"color": bright(label, place), "alpha": 0.6, "label": label}
        ax.hist(some, bins, weights=np.full(len(some), 1 / max(1, len(whole))), **look)
        lost = f"{100 * np.mean(whole <= smallest / 2):.0f}% become zero"
        if infinite := np.mean(whole > largest):
            lost += f" and {100 * infinite:.0f}% infinite"
        said.append(f"{label}, {lost}")
    words = ("zero\nbelow", "fewer bits\nbelow", "infinite\nabove")
    for edge, text in zip(edges, words, strict=True):
        shade = 0.4 if edge == normal else 1.0
        mark(ax, edge, text, up=0.98, linestyle="-", linewidth=1.6, alpha=shade)
    write_numbers(ax.xaxis, "$2^{{{:.0f}}}$".format)
    ax.set_ylim(top=1.18 * ax.get_ylim()[1])  # room for the words
    found, about = (
        f"In {name}: {'; '.join(said)}",
        f"Histogram of magnitudes beside the range of {name}",
    )
    names: Look = {"x": "size of a number", "y": "share of all numbers", "grid": ""}
    return finish(ax, about, found, title, **names, legend=BESIDE)
