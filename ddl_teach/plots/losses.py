"""Loss against epochs, against seconds and against bytes: three questions to the same runs.

Epochs say what an idea is worth, seconds what it is worth on this machine, bytes what it asks of
the network. What to look at: who wins on the left may lose in the middle; no order holds in all
three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from ddl_teach.plots.style import Picture, describe, in_style, rank_colour, time_unit

SIZES = ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"))


@dataclass(frozen=True)
class Curve:
    """Losses of one run, and how many epochs, seconds and bytes had been spent by then."""

    epochs: Sequence[float]
    seconds: Sequence[float]
    nbytes: Sequence[float]
    losses: Sequence[float]


def mean_curve(
    diaries: Sequence[tuple[Sequence[float], Sequence[float], Sequence[float]]],
    epochs_a_step: float,
    width: int = 10,
) -> Curve:
    """Of workers' losses, seconds and bytes at each step: the means, of losses over `width` steps.

    A minibatch's loss jumps up and down; what a run has learnt shows in the mean of a few.
    """
    steps, seconds, nbytes = (np.mean(each, axis=0) for each in zip(*diaries, strict=True))
    smooth = np.convolve(steps, np.ones(width) / width, mode="valid")
    epochs = epochs_a_step * np.arange(1, len(steps) + 1)
    return Curve(epochs[width - 1 :], seconds[width - 1 :], nbytes[width - 1 :], smooth)


@in_style
def plot_losses(curves: Mapping[str, Curve], *, title: str | None = None) -> Figure:
    """Draw three panels, a line for each run, by name."""
    figure = Picture(figsize=(9.5, 3.6))
    panels = figure.subplots(1, 3, sharey=True)
    seconds = max(curve.seconds[-1] for curve in curves.values())
    nbytes = max(curve.nbytes[-1] for curve in curves.values())
    time_factor, time_name = time_unit(seconds)
    size, size_name = max(unit for unit in SIZES if unit[0] <= max(nbytes, 1.0))
    for number, (name, curve) in enumerate(curves.items()):
        spent = (
            curve.epochs,
            np.multiply(curve.seconds, time_factor),
            np.divide(curve.nbytes, size),
        )
        for ax, along in zip(panels, spent, strict=True):
            ax.plot(along, curve.losses, color=rank_colour(number), label=name)
    for ax, label in zip(
        panels, ("epochs", f"time ({time_name})", f"sent by a worker ({size_name})"), strict=True
    ):
        ax.set_xlabel(label)
        ax.set_yscale("log")
        ax.grid(True)
    panels[0].set_ylabel("loss")
    panels[0].legend()
    found = finding(curves)
    figure.suptitle(found if title is None else title, x=0.01, ha="left", weight="bold", size=11.5)
    describe(figure, f"Loss against epochs, seconds and bytes sent. {found}.")
    return figure


def finding(curves: Mapping[str, Curve]) -> str:
    """Who first reaches the loss that all reach, in each of the three measures."""
    goal = max(min(curve.losses) for curve in curves.values())
    winners = []
    for measure in ("epochs", "seconds", "nbytes"):
        spent = {
            name: getattr(curve, measure)[int(np.argmax(np.asarray(curve.losses) <= goal))]
            for name, curve in curves.items()
        }
        winners.append(min(spent, key=spent.__getitem__))
    return "First at a loss of {:.2g}: {} by epochs, {} by seconds, {} by bytes".format(
        goal, *winners
    )
