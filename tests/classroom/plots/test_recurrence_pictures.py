"""Wavefronts, chunks, errors of sums, magnitudes and loss scales: pictures that say what is so."""

import numpy as np

from ddl_class.plots.recurrences import (
    plot_loss_scale,
    plot_sum_errors,
    plot_wavefronts,
    too_early,
)
from tests.classroom.plots.figures import title


def diagonals(layers, steps):
    return [
        [(layer, turn - layer) for layer in range(layers) if 0 <= turn - layer < steps]
        for turn in range(layers + steps - 1)
    ]


def test_wavefronts_are_counted():
    figure = plot_wavefronts(diagonals(3, 5), 3, 5)
    assert title(figure) == "15 cells in 7 turns, at most 3 of them at once"
    assert title(figure) in figure.alt
    numbers = sorted(int(text.get_text()) for text in figure.axes[0].texts)
    assert numbers == sorted(layer + step for layer in range(3) for step in range(5))


def test_cells_that_come_too_early_are_crossed_out_and_missing_ones_counted():
    at_once = plot_wavefronts([[(0, 0), (0, 1)], [(1, 0)], [(1, 1)]], 2, 2)
    assert title(at_once) == "1 of 4 cells come before one that they need"
    assert at_once.axes[0].lines[0].get_xydata().tolist() == [[1, 0]]
    assert title(plot_wavefronts([[(0, 0)]], 2, 2)) == "3 of 4 cells are never computed"
    # A cell whose needed one is never computed comes too early, too.
    assert too_early(np.array([[np.nan, 1.0], [2.0, 3.0]])).tolist() == [[0, 1], [1, 0]]


def test_a_grid_too_large_for_numbers_has_a_scale():
    figure = plot_wavefronts(diagonals(20, 30), 20, 30)
    assert len(figure.axes) == 2
    assert not figure.axes[0].texts


def test_a_sum_without_an_error_is_drawn_too():
    errors = {"in_order": ([10, 100], [1e-3, 0.5]), "pairwise": ([10, 100], [1e-4, 0.0])}
    figure = plot_sum_errors(errors, {"in_order": ([10, 100], [0.1, 1.0])}, unit_roundoff=2**-11)
    assert (figure.axes[0].lines[2].get_ydata() > 0).all()  # zero is drawn on the lower edge


def test_who_learns_is_said():
    figure = plot_loss_scale({"plain": ([2.0, 2.0], [1.0, 1.0]), "scaled": ([2.0, 0.5], [8, 16])})
    assert title(figure) == "Loss at the end: plain: nothing is learned; scaled: 4 times less"
    assert [len(axes.lines) for axes in figure.axes] == [2, 2]
