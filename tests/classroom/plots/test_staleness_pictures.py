"""The pictures of staleness and of losses say what their data say."""

import numpy as np
import pytest

from ddl_class.plots import (
    staleness,
)
from ddl_teach.theory.staleness import delayed_descent, stable_rate


def title_of(figure):
    assert figure.alt.rstrip(".").endswith(figure.axes[0].get_title(loc="left"))
    return figure.axes[0].get_title(loc="left")


@pytest.mark.parametrize("age", [1, 3, 7, 15])
@pytest.mark.parametrize(("part", "how"), [(0.95, "shrink"), (1.05, "grow")])
def test_the_limit_between_shrinking_and_growing_is_the_formulas(age, part, how):
    walk = delayed_descent(part * stable_rate(age), 1, age, 30 * (age + 1))
    assert staleness.walks_finding({"it": walk}) == f"The swings {how} with it"


def test_the_line_is_the_formula_and_dots_are_compared_with_it():
    simulated = [0.0, 7.0], [2.0, 0.2]
    figure = staleness.plot_stable_steps(stable_rate, simulated)
    line = figure.axes[0].lines[0]
    assert np.allclose(line.get_ydata(), [stable_rate(age) for age in range(9)])


def test_histograms_are_shares_and_name_mean_and_most():
    figure = staleness.plot_ages({"even": [2, 2, 2, 1], "slow": [0, 9]})
    assert title_of(figure) == "Age of the oldest gradient, in updates: even 2, slow 9"
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights[:10] == [0, 0.25, 0.75, *[0] * 7]
    assert sum(heights[10:]) == 1
    wide = staleness.plot_ages({"old": list(range(100))})
    assert len(wide.axes[0].patches) <= 30


def test_losses_against_three_measures_name_three_winners():
    curves = {
        "few steps": staleness.Curve([1, 2, 3], [10, 20, 30], [5, 10, 15], [3.0, 1.0, 0.5]),
        "fast": staleness.Curve([2, 4, 6], [1, 2, 3], [50, 100, 150], [2.0, 1.0, 0.4]),
        "silent": staleness.Curve([3, 6, 9], [11, 22, 33], [0, 0, 0], [2.0, 1.0, 0.5]),
    }
    figure = staleness.plot_losses(curves)
    found = "First at a loss of 0.5: few steps by epochs, fast by seconds, silent by bytes"
    assert figure.get_suptitle() == found
    assert found in figure.alt
    assert [ax.get_xlabel() for ax in figure.axes] == [
        "epochs", "time (s)", "sent by a worker (B)"
    ]  # fmt: skip


def test_a_mean_curve_is_the_mean_over_workers_and_over_some_steps():
    diaries = [([4.0, 2.0, 0.0], [1, 2, 3], [0, 8, 16]), ([2.0, 2.0, 2.0], [3, 4, 5], [0, 8, 16])]
    curve = staleness.mean_curve(diaries, epochs_a_step=0.5, width=2)
    assert np.allclose(curve.losses, [2.5, 1.5])
    assert np.allclose(curve.epochs, [1.0, 1.5])
    assert np.allclose(curve.seconds, [3.0, 4.0])
    assert np.allclose(curve.nbytes, [8, 16])
