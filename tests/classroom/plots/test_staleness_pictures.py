"""The pictures of staleness and of losses say what their data say."""

import numpy as np

from ddl_teach.plots import losses, staleness
from ddl_teach.theory.staleness import delayed_descent, stable_rate


def title_of(figure):
    assert figure.alt.rstrip(".").endswith(figure.axes[0].get_title(loc="left"))
    return figure.axes[0].get_title(loc="left")


def test_walks_are_told_by_whether_they_come_to_rest():
    walks = {
        "small": delayed_descent(0.2, 1.0, 3, 100),
        "large": delayed_descent(0.5, 1.0, 3, 100),
    }
    title = title_of(staleness.plot_walks(walks))
    assert title == "The weight comes to rest with small; not with large"
    assert "always comes to rest: small" in title_of(staleness.plot_walks({"small": [1, 0, 0, 0]}))
    assert "never comes to rest: large" in title_of(staleness.plot_walks({"large": [1, -1] * 4}))


def test_the_line_is_the_formula_and_dots_are_compared_with_it():
    simulated = [0.0, 7.0], [2.0, 0.2]
    figure = staleness.plot_stable_steps(stable_rate, simulated)
    line = figure.axes[0].lines[0]
    assert np.allclose(line.get_ydata(), [stable_rate(age) for age in range(9)])
    assert "With gradients 8 updates old the largest stable step is 11 times" in title_of(figure)
    measured = [0.0, 3.0], [1.0, 2 * stable_rate(3)]
    figure = staleness.plot_stable_steps(stable_rate, simulated, measured)
    assert "measured is 0.50 to 2.00 of predicted" in title_of(figure)


def test_histograms_are_shares_and_name_mean_and_most():
    figure = staleness.plot_ages({"even": [2, 2, 2, 1], "slow": [0, 9]})
    assert title_of(figure) == "The oldest gradients are so many updates old: even 2, slow 9"
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights[:10] == [0, 0.25, 0.75, *[0] * 7]
    assert sum(heights[10:]) == 1
    wide = staleness.plot_ages({"old": list(range(100))})
    assert len(wide.axes[0].patches) <= 30


def test_paces_tell_what_late_steps_take():
    ends = {"all": 0.05 * np.arange(1, 21), "nobody": 0.01 * np.arange(1, 21)}
    assert (
        title_of(staleness.plot_paces(ends)) == "What a late step takes: all 50 ms, nobody 10 ms"
    )


def test_losses_against_three_measures_name_three_winners():
    curves = {
        "few steps": losses.Curve([1, 2, 3], [10, 20, 30], [5, 10, 15], [3.0, 1.0, 0.5]),
        "fast": losses.Curve([2, 4, 6], [1, 2, 3], [50, 100, 150], [2.0, 1.0, 0.4]),
        "silent": losses.Curve([3, 6, 9], [11, 22, 33], [0, 0, 0], [2.0, 1.0, 0.5]),
    }
    figure = losses.plot_losses(curves)
    found = "First at a loss of 0.5: few steps by epochs, fast by seconds, silent by bytes"
    assert figure.get_suptitle() == found
    assert found in figure.alt
    assert [ax.get_xlabel() for ax in figure.axes] == [
        "epochs", "time (s)", "sent by a worker (B)"
    ]  # fmt: skip


def test_a_mean_curve_is_the_mean_over_workers_and_over_some_steps():
    diaries = [([4.0, 2.0, 0.0], [1, 2, 3], [0, 8, 16]), ([2.0, 2.0, 2.0], [3, 4, 5], [0, 8, 16])]
    curve = losses.mean_curve(diaries, epochs_a_step=0.5, width=2)
    assert np.allclose(curve.losses, [2.5, 1.5])
    assert np.allclose(curve.epochs, [1.0, 1.5])
    assert np.allclose(curve.seconds, [3.0, 4.0])
    assert np.allclose(curve.nbytes, [8, 16])
