"""Accuracy on held-out data over time and over epochs: the same trainings, twice.

A hollow circle is where the target was reached. What to look at: who is first on the left need not
be first on the right; one learns more of each sample, the other sees more of them a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ddl_teach.plots.style import INK, Picture, describe, in_style, rank_colour, time_text


class Look(Protocol):
    """Accuracy on held-out data, after so many seconds of training and epochs."""

    seconds: float
    epochs: float
    accuracy: float


@in_style
def plot_to_accuracy(
    trainings: Mapping[str, Sequence[Look]], target: float,
    reached: Mapping[str, Look | None], *, title: str | None = None,
) -> Figure:  # fmt: skip
    """Draw trainings by their names, and where each of them has reached the target, if it has."""
    if not trainings or not all(trainings.values()):
        raise ValueError("nothing to draw: give the looks of at least one training")
    figure = Picture(figsize=(9.0, 4.0))
    axes = figure.subplots(1, 2, sharey=True)
    for ax, along, label in zip(
        axes, ("seconds", "epochs"), ("training time (s)", "epochs"), strict=True
    ):
        ax.axhline(target, color=INK, linestyle="--", linewidth=1.2)
        for number, (name, looks) in enumerate(trainings.items()):
            colour = rank_colour(number)
            way = [getattr(look, along) for look in looks]
            ax.plot(way, [look.accuracy for look in looks], ".-", color=colour, label=name)
            first = reached.get(name)
            if first is not None:
                ax.plot(
                    getattr(first, along), first.accuracy, "o", color=colour, markersize=11,
                    markerfacecolor="none",
                )  # fmt: skip
        ax.set_xlim(left=0)
        ax.grid(True)
        ax.set_xlabel(label)
    axes[0].set_ylabel("accuracy on held-out data")
    axes[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    axes[1].legend(loc="lower right")
    found = finding(reached, target)
    figure.suptitle(found if title is None else title, x=0.01, ha="left", weight="bold", size=11.5)
    describe(figure, f"Accuracy over time and over epochs. {found}.")
    return figure


def finding(reached: Mapping[str, Look | None], target: float) -> str:
    """Who took how long, in seconds and in epochs, in one line."""
    said = ", ".join(
        f"{name} never"
        if first is None
        else f"{name} {time_text(first.seconds)} and {first.epochs:.1f} epochs"
        for name, first in reached.items()
    )
    return f"To {target:.0%}: {said}"
