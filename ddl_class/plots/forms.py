"""Fewer bytes: what a gradient is made of, what training with less of it costs, when it pays.

What to look at: how few entries hold most of a gradient; lines of training that stay up where the
others come down; the bandwidth at which two lines of time cross; and how early the share of places
bends that hold something in a sum of sparse vectors, which above the dashed line is smaller dense.
"""

import numpy as np

from ddl_class.plots.frame import Curves, Series, each_end, plane
from ddl_runtime.pictures.style import INK, Look, Picture, rank_colour
from ddl_runtime.pictures.words import rate_text, time_text


def plot_kept(vector: np.ndarray, *, share: float = 0.01) -> Picture:
    """How much of a vector's squared length its largest entries hold."""
    ax = plane("entries, the largest first", "of the squared length (%)", 3.6)
    squares = np.sort(np.square(np.asarray(vector, float)))[::-1]
    held = np.cumsum(squares) / squares.sum()
    shares = np.arange(1, len(held) + 1) / len(held)
    here = held[max(0, round(share * len(held)) - 1)]
    ax.plot(100 * shares, 100 * held, color=rank_colour(0))
    ax.plot(100 * shares, 100 * shares, color="#999999", linewidth=1.2)
    ax.annotate("if all were alike", (60, 60), (62, 48), color="#666666")
    ax.plot(100 * share, 100 * here, "o", color=INK)
    ax.set_xscale("log")
    ax.write_axis("x", "{:g}%".format)
    ax.set_ylim(0, 103)
    takeaway = (
        f"The largest {100 * share:g}% of the entries hold {100 * here:.0f}% of the gradient"
    )
    return ax.finish("Share of the squared length over the share of entries", takeaway)


def plot_descents(
    descents: Series,
    title: str | None = None,
    *,
    across: Series | None = None,
    unit: str = "step",
    of: str = "loss on data held out",
    smooth: int = 1,
) -> Picture:
    """A loss over steps, or over what else is given as `across`: one line a form.

    Shown is the mean of the last `smooth` steps.
    """
    ax = plane(unit, of)
    mean = np.ones(smooth) / smooth
    calm = {name: np.convolve(losses, mean, "valid") for name, losses in descents.items()}
    lines: Curves = {name: (range(smooth, smooth + len(run)), run) for name, run in calm.items()}
    if across is not None:
        lines = {name: (across[name][smooth - 1 :], losses) for name, losses in calm.items()}
        reach = np.concatenate([x for x, _ in lines.values()])
        ax.log_scale("x", subs=(1.0, 2.0, 5.0) if reach.max() < 300 * reach.min() else (1.0,))
    ax.draw_lines(lines)
    ax.log_scale("y")
    last = sorted((float(losses[-1]), float(x[-1])) for x, losses in lines.values())
    near = np.diff(np.log([loss for loss, _ in last])) < 0.05 * np.ptp(np.log(ax.get_ylim()))
    for (loss, x), up in zip(last, -5 * np.diff(np.pad(1 * near, 1)), strict=True):
        ax.note(f"{loss:.2g}", (x, loss), (4, up), va="center", fontsize=10)
    ends = {name: float(losses[-1]) for name, losses in calm.items()}
    takeaway = "In the end: " + ", ".join(f"{n} {loss:.2g}" for n, loss in each_end(ends).items())
    more = "; ".join(f"{name} ends at {loss:.3g}" for name, loss in ends.items())
    about, legend = f"The {of} over {unit}", {"loc": "best"}
    return ax.finish(about, takeaway, title, legend=legend, more=f"{more}.")


def read_at_best(accuracies: Series) -> str:
    """A title: of each form the mean of its trainings, and their range."""
    rows = [
        f"{name}: {np.mean(read):.0%} ({100 * min(read):.0f} to {max(read):.0%})"
        for name, read in accuracies.items()
    ]
    return "Digits read right at each one's best rate:\n" + "; ".join(rows)


def plot_bandwidths(
    computed: Curves,
    simulated: Curves | None = None,
    measured: Curves | None = None,
    *,
    even: float,
) -> Picture:
    """Seconds of an average over the bandwidth, by form; `even` is where compression stops paying.

    Lines are computed, hollow squares simulated, dots measured.
    """
    ax = plane("bandwidth of a link", "one average over all ranks")
    grounds = {"computed": computed, "simulated": simulated, "measured": measured}
    ax.draw_all(grounds, lambda _, place: rank_colour(2 * place))
    if 0 < even < np.inf:
        ax.axvline(even, color=INK, linewidth=1.0, linestyle="--")
    ax.set_xscale("log")
    ax.write_axis("x", rate_text)
    ax.log_scale("y", time_text)
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top * (top / bottom) ** 0.2)
    takeaway = (
        f"By the formula fewer bytes pay below {rate_text(even)}; above, packing takes longer"
    )
    if even == 0:
        takeaway = "Fewer bytes do not pay at any bandwidth: none are saved"
    elif even == np.inf:
        takeaway = "Fewer bytes pay at every bandwidth here: packing took no longer than it saved"
    legend = {"loc": "upper right"}
    return ax.finish("Seconds of an average over the bandwidth of links", takeaway, legend=legend)


def plot_fill_in(
    expected: Curves, entries: Curves, *, how: str = "simulated", title: str | None = None
) -> Picture:
    """Draw shares (0 to 1) over the number of ranks: lines, and squares, by name."""
    ax = plane("ranks whose vectors are added up", "places of the sum that hold something (%)", 4)
    ax.axhline(50, color=INK, linewidth=1.0, linestyle="--")
    place: Look = {"xycoords": ("axes fraction", "data")}
    ax.note("above, the vector is smaller", (0.01, 50), (2, 4), **place)
    shown = {"expected": _in_percent(expected), "simulated": _in_percent(entries)}
    ax.draw_all(shown, label={"expected": "{name}, expected", "simulated": f"{{name}}, {how}"})
    ax.log_scale("x", base=2)
    ax.set_ylim(0, 103)
    phrases = "; ".join(
        f"{name}, {100 * shares[0]:.2g}% on {ranks[0]:g}, {100 * shares[-1]:.0f}% on {ranks[-1]:g}"
        for name, (ranks, shares) in expected.items()
    )
    about = "Share of places that hold something over ranks"
    legend = {"loc": "upper left", "bbox_to_anchor": (0.0, 0.92)}
    return ax.finish(about, f"Filled, as expected: {phrases} ranks", title, legend=legend)


def _in_percent(curves: Curves) -> Curves:
    return {name: (ranks, 100 * np.asarray(shares)) for name, (ranks, shares) in curves.items()}
