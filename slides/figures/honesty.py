"""Part 5: what fools, what does not, and what a review finds; from recorded true measurements."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.figure import Figure

from ddl_class.exercises.mutants.bug import BUGS
from ddl_class.notebook.true_measurements import true_measurements
from ddl_class.plots.honesty import plot_checks, plot_fooling
from ddl_measure.levels.operators import check_gradient
from ddl_measure.reports.twelve_ways.all_ways import all_tricks
from ddl_measure.reports.twelve_ways.trick import Trick


@cache
def tricks() -> dict[int, Trick]:
    """The twelve, carried out."""
    return {trick.way: trick for trick in all_tricks(true_measurements())}


def recorded_where() -> str:
    """What measured all of them, and when."""
    made = true_measurements().made
    return f"{made.command}, {made.date}"


def gradient_checks() -> Figure:
    """The error of a right gradient over the step of the differences."""
    steps, x = 10.0 ** -np.arange(1, 13), np.linspace(-1, 1, 7)

    def forward(x: np.ndarray) -> np.ndarray:
        return np.tanh(3 * x)

    def backward(x: np.ndarray, towards: np.ndarray) -> np.ndarray:
        return 3 * (1 - np.tanh(3 * x) ** 2) * towards

    errors = [check_gradient(forward, backward, x, step=step).relative for step in steps]
    return plot_checks(steps, {"central differences": errors})


def all_bugs() -> str:
    """How many in all."""
    return str(len(BUGS))


def way(number: int) -> Figure:
    """One of the twelve: the picture that fools beside the one that does not."""
    trick = tricks()[number]
    picture = plot_fooling(trick.fools, trick.honest)
    picture.set_size_inches(9.6, 3.6)  # smaller than in the unit: its letters get larger
    return picture


def way_name(number: int) -> str:
    """What it is called."""
    return tricks()[number].name


def way_undone(number: int) -> str:
    """How it is undone."""
    return tricks()[number].undone
