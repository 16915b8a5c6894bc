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

from ddl_class.plots.frame import extremes, finish_panels, panels
from ddl_runtime.pictures.style import in_style, rank_colour, time_unit

SIZES = ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"))


@dataclass(frozen=True)
class Curve:
    """Losses of one run, and how many epochs, seconds and bytes had been spent by then."""

    epochs: Sequence[float] | np.ndarray
    seconds: Sequence[float] | np.ndarray
    nbytes: Sequence[float] | np.ndarray
    losses: Sequence[float] | np.ndarray


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
    winners = []
    for ax, (measure, label, scale) in zip(axes, measures, strict=True):
        spent = {name: np.asarray(getattr(curve, measure)) for name, curve in curves.items()}
        for number, (name, curve) in enumerate(curves.items()):
            ax.plot(scale * spent[name], curve.losses, color=rank_colour(number), label=name)
        ax.set_xlabel(label)
        ax.set_yscale("log")
        ax.grid(True)
        first = {
            name: int(np.argmax(np.asarray(it.losses) <= goal)) for name, it in curves.items()
        }
        winners.append(extremes({name: spent[name][first[name]] for name in curves})[0])
    axes[0].set_ylabel("loss")
    axes[0].legend()
    by = "{} by epochs, {} by seconds, {} by bytes".format(*winners)
    found = f"First at a loss of {goal:.2g}: {by}"
    return finish_panels(axes, "Loss against epochs, seconds and bytes sent", found, title)
