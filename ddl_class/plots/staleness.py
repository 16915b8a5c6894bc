"""Stale gradients in pictures: their age, the largest stable step, and which workers wait.

What to look at: the stable step falls like one over the staleness; behind a straggler every
bounded line bends up to the straggler's own; and of losses against epochs (what an idea is worth),
seconds (on this machine) and bytes (of the network) no order holds in all three.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ddl_class.plots.frame import RANKS, Numbers, Series, least, listed, need, panels, plane
from ddl_runtime.pictures.style import Look, Picture, Points, rank_colour
from ddl_runtime.pictures.words import time_text, time_unit

SAME = 0.01  # swings as large as before: a peak between two updates is missed by less
SIZES = ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"))


def plot_walks(walks: Series) -> Picture:
    """Draw a weight over the updates; `walks` has one walk for each step size, by its name."""
    ax = plane("updates", "weight; the minimum is at 0", 3.6)
    ax.draw_runs(walks)
    reach = max(np.max(np.abs(walk)) for walk in walks.values())
    ax.set_ylim(-1.5 * reach, 1.1 * reach)
    legend = {"ncols": len(walks), "loc": "lower left"}
    return ax.finish("A weight over the updates", walks_finding(walks), legend=legend)


def walks_finding(walks: Series) -> str:
    """How the swings of each walk went on: its last quarter beside the quarter before."""
    names: dict[str, list[str]] = {"shrink": [], "hardly change": [], "grow": []}
    for name, walk in walks.items():
        *_, before, last = (np.abs(part).max() for part in np.array_split(walk, 4))
        if abs(last - before) < SAME * before:
            names["hardly change"].append(name)
        else:
            names["grow" if last > before else "shrink"].append(name)
    takeaway = "; ".join(f"{how} with {', '.join(some)}" for how, some in names.items() if some)
    return f"The swings {takeaway}"


def plot_stable_steps(
    formula: Callable[[int], float], simulated: Points, measured: Points | None = None
) -> Picture:
    """Draw the largest stable step (rate x curvature) over the mean staleness.

    `formula(staleness)` is the line; points are ages and steps.
    """
    x = "mean staleness τ (updates of others between reading and writing)"
    ax = plane(x, "largest stable step, rate × curvature")
    ages = np.arange(int(np.ceil(max(simulated[0]))) + 2)
    steps = np.array([formula(age) for age in ages.tolist()])
    ax.draw_curve(
        "predicted", (ages, steps), rank_colour(0), "predicted: 2 sin(π / (2 (2 τ + 1)))"
    )
    ax.draw_curve("simulated", simulated, rank_colour(0), "simulated")
    ax.draw_curve("measured", measured, rank_colour(3), "measured")
    takeaway = (
        f"By the formula the largest stable step is {steps[0] / steps[-1]:.0f} times smaller with "
        f"gradients {ages[-1]:g} updates old"
    )
    if measured is not None:
        ratios = measured[1] / np.exp(np.interp(measured[0], ages, np.log(steps)))
        low, high = ratios.min(), ratios.max()
        takeaway = f"Largest stable steps: measured is {low:.2f} to {high:.2f} of predicted"
    ax.set_xscale("symlog", base=2, linthresh=1)
    ax.set_yscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:.3g}")
    return ax.finish("The largest stable step over the staleness", takeaway, legend={})


def plot_ages(ages: Mapping[str, Sequence[int]]) -> Picture:
    """Draw the staleness histograms of some runs, each by its name."""
    x = "staleness (updates of others between reading and writing)"
    ax = plane(x, "share of gradients", 3.6)
    oldest = {name: int(np.max(each)) for name, each in ages.items()}
    width = max(1, -(-(max(oldest.values()) + 1) // 30))  # at most thirty bars
    edges = np.arange(0, max(oldest.values()) + width + 1, width)
    shares = [np.full(len(each), 1 / len(each)) for each in ages.values()]
    names = [f"{name}: mean {np.mean(each):.1f}" for name, each in ages.items()]
    look: Look = {"color": RANKS[: len(ages)], "label": names, "rwidth": 0.9}
    ax.hist([*ages.values()], (edges - 0.5).tolist(), weights=shares, **look)
    ax.in_percent("y")
    ax.set_xlim(-0.6, edges[-1] - 0.4)
    listed = ", ".join(f"{name} {most}" for name, most in oldest.items())
    takeaway = f"Age of the oldest gradient, in updates: {listed}"
    return ax.finish("How old gradients are, as histograms", takeaway, grid="y", legend={})


def plot_paces(ends: Series) -> Picture:
    """Draw when each step ended, for one worker of each of some runs, by the runs' names."""
    need(all(len(each) > 3 for each in ends.values()), "a pace needs at least four steps")
    factor, unit = time_unit(max(max(each) for each in ends.values()))
    ax = plane("step", f"time when it ended ({unit})")
    ax.draw_runs({name: np.multiply(turns, factor) for name, turns in ends.items()}, first=1)
    late = []
    for name, each in ends.items():
        quarter = len(each) // 4
        late.append(f"{name} {time_text((each[-1] - each[-1 - quarter]) / quarter)}")
    return ax.finish("Time over steps", f"What a late step takes: {', '.join(late)}", legend={})


@dataclass(frozen=True)
class Curve:
    """Losses of one run, and how many epochs, seconds and bytes had been spent by then."""

    epochs: Numbers | np.ndarray
    seconds: Numbers | np.ndarray
    nbytes: Numbers | np.ndarray
    losses: Numbers | np.ndarray


def mean_curve(
    diaries: Sequence[tuple[Numbers, Numbers, Numbers]], epochs_a_step: float, width: int = 10
) -> Curve:
    """The curve of the means of workers' losses, seconds and bytes at each step; losses are
    averaged over `width` steps too.

    A minibatch's loss jumps up and down; what a run has learnt shows in the mean of a few.
    """
    steps, seconds, nbytes = (np.mean(each, axis=0) for each in zip(*diaries, strict=True))
    smooth = np.convolve(steps, np.ones(width) / width, mode="valid")
    epochs = epochs_a_step * np.arange(1, len(steps) + 1)
    return Curve(epochs[width - 1 :], seconds[width - 1 :], nbytes[width - 1 :], smooth)


def plot_losses(curves: Mapping[str, Curve]) -> Picture:
    """Draw three panels, a line for each run, by name."""
    axes = panels(9.5, 3.6, columns=3, sharey=True)
    seconds = max(curve.seconds[-1] for curve in curves.values())
    nbytes = max(curve.nbytes[-1] for curve in curves.values())
    factor, unit = time_unit(seconds)
    size, size_unit = max(unit for unit in SIZES if unit[0] <= max(nbytes, 1.0))
    measures = (
        ("epochs", "epochs", 1.0),
        ("seconds", f"time ({unit})", factor),
        ("nbytes", f"sent by a worker ({size_unit})", 1 / size),
    )
    goal = max(min(curve.losses) for curve in curves.values())
    first = {
        name: int(np.argmax(np.asarray(descent.losses) <= goal))
        for name, descent in curves.items()
    }
    winners = []
    for ax, (measure, label, scale) in zip(axes, measures, strict=True):
        spent = {name: np.asarray(getattr(curve, measure)) for name, curve in curves.items()}
        ax.draw_lines(
            {name: (scale * spent[name], descent.losses) for name, descent in curves.items()}
        )
        ax.set_xlabel(label)
        ax.log_scale("y")
        ax.grid(True)
        winners.append(listed(least({name: spent[name][first[name]] for name in curves})))
    axes[0].set_ylabel("loss")
    axes[0].legend()
    by = "{} by epochs, {} by seconds, {} by bytes".format(*winners)
    takeaway = f"First at a loss of {goal:.2g}: {by}"
    return axes[0].finish_all("Loss against epochs, seconds and bytes sent", takeaway)
