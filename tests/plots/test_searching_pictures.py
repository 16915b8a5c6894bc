"""Pictures of searches: their titles say what the data say."""

import numpy as np

from ddl_teach.plots.searching import plot_curves, plot_luck, plot_waiting

CURVES = np.array([[2.0, 1.0, 0.5], [1.0, 0.9, 0.8], [3.0, 2.9, 2.8]])


def title(figure):
    return figure.axes[0].get_title(loc="left")


def test_curves_tell_what_a_halving_spent_and_found():
    whole = plot_curves((1, 2, 4), CURVES)
    assert title(whole) == "3 trials, 12 steps: the best ends at 0.5"
    cut = plot_curves((1, 2, 4), CURVES, [[0, 1, 2], [0, 1], [0]])
    assert title(cut) == "58% of the steps find the best of all"
    missed = plot_curves((1, 2, 4), CURVES, [[0, 1, 2], [1], [1]])
    assert title(missed) == "50% of the steps find number 2 of all"
    assert title(cut) in cut.alt


def test_waiting_tells_the_largest_number_of_workers():
    simulated = {"halving, differ": ([2, 8], [1.5, 2.0]), "asynchronous, differ": ([8], [1.2])}
    figure = plot_waiting({"halving, differ": ([1, 8], [1.0, 2.1])}, simulated, simulated)
    assert title(figure).startswith("8 workers: halving takes 2, asynchronous takes 1.2 times")


def test_luck_is_measured_where_it_was_chosen_and_elsewhere():
    figure = plot_luck([0.1, 0.2, 0.3], [0.4, 0.4, 0.4])
    assert "50% fewer errors where it was chosen, 0% elsewhere" in title(figure)
