"""Attention: which scores are computed where, and what grows with the length of a text.

What to look at: the white half under a causal mask, and the slope of a curve. It is 2 where a
matrix of N x N is held and 1 where it is not.
"""

from collections.abc import Sequence

import numpy as np

from ddl_class.plots.frame import BRIGHT, Curves, need, plane
from ddl_runtime.pictures.style import INK, Picture

SEEN, PARTLY = BRIGHT[0], BRIGHT[1]


def plot_tiles(length: int, queries: int, seen: Sequence[int], keys: int) -> Picture:
    """Draw the scores of `length` positions; of each row of tiles `seen` says how many tiles of
    `keys` keys are computed."""
    rows = -(-length // queries)
    need(len(seen) == rows, f"seen needs {rows} numbers of tiles")
    ax = plane("key", "query", height=4.6, width=6.0)
    ax.set(xlim=(0, length), ylim=(length, 0), aspect="equal")
    for row, tiles in enumerate(seen):
        top, low = row * queries, min((row + 1) * queries, length)
        for first in range(0, tiles * keys, keys):
            last = min(first + keys, length)
            colour = SEEN if last - 1 <= top else PARTLY
            ax.fill([first, last, last, first], [top, top, low, low], color=colour, ec="white")
    ax.plot([0, length], [0, length], color=INK, linewidth=1, linestyle=":")
    for words, colour in (("seen whole", SEEN), ("seen in part", PARTLY)):
        ax.plot([], [], "s", color=colour, label=words)
    of_all = sum(seen) / (rows * -(-length // keys))
    about = f"Tiles of {queries} queries and {keys} keys of {length} positions under a causal mask"
    return ax.finish(about, f"{of_all:.0%} of all tiles are computed", legend="beside")


def plot_growth(predicted: Curves, measured: Curves, of: str, unit: str) -> Picture:
    """Draw curves over the length of a text: lines are predicted, dots measured."""
    need(predicted or measured, "nothing to draw: give a curve")
    ax = plane("positions", f"{of} ({unit})")
    colours = ax.draw_all({"predicted": predicted, "measured": measured}, BRIGHT)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    slopes = {}
    for name in colours:
        x, y, *_ = (measured or predicted).get(name) or predicted[name]
        slopes[name] = np.polyfit(np.log(x), np.log(y), 1)[0]
    grown = ", ".join(f"{name} {2**slope:.1f} times" for name, slope in slopes.items())
    return ax.finish(f"{of} over length", f"Twice the length: {grown}", legend="beside")


def plot_steps(work: Sequence[Sequence[float]], *, title: str, unit: str = "pairs") -> Picture:
    """Draw how much each rank has to do in each step of a ring; `work` has a row for each step."""
    table = np.array(work, float)
    need(table.ndim == 2 and table.size, "give a row for each step, with a number for each rank")
    ax = plane("rank", "step", height=4.2, width=6.5)
    image = ax.imshow(table, cmap="viridis", aspect="auto", vmin=0)
    ax.figure.colorbar(image, ax=ax, label=unit)
    ax.part_pixels((table.shape[0], table.shape[1]), width=1.2)
    ax.set(xticks=range(table.shape[1]), yticks=range(table.shape[0]))
    ax.grid(False, which="major")
    share = table.max(axis=1).sum() * table.shape[1] / table.sum()
    takeaway = f"{title}: if all wait for the slowest, {share:.2f} times the work"
    return ax.finish("The work of each rank in each step", takeaway)
