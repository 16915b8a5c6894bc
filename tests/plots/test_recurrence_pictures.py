"""Wavefronts, chunks, errors of sums, magnitudes and loss scales: pictures that say what is so."""

import numpy as np
import pytest

from ddl_teach.plots.chunks import plot_chunks
from ddl_teach.plots.loss_scale import plot_loss_scale
from ddl_teach.plots.magnitudes import plot_magnitudes
from ddl_teach.plots.rounding import plot_sum_errors
from ddl_teach.plots.wavefront import plot_wavefronts, too_early

HALF = {"smallest": 2.0**-24, "smallest_normal": 2.0**-14, "largest": 65504.0}


def title(figure):
    return figure.axes[0].get_title(loc="left")


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


def test_cells_outside_the_grid_are_refused():
    with pytest.raises(ValueError, match=r"turn 0 holds the cell \(2, 0\); layers are 0 to 1"):
        plot_wavefronts([[(2, 0)]], 2, 2)


def test_the_best_chunk_is_named_by_both():
    chunks, times = (1, 2, 4), (3.0, 1.0, 2.0)
    same = plot_chunks((chunks, times), (chunks, times), (chunks, times), alone=2.0)
    assert title(same) == "Best are 2 steps in a message: so it was predicted and measured"
    other = plot_chunks(
        (chunks, times), (chunks, times), (chunks, (1.0, 2.0, 3.0)), (times, times)
    )
    assert title(other) == "Best are 1 steps in a message; 2 were predicted"


def test_the_worst_and_the_best_sum_are_named():
    errors = {"in_order": ([10, 100], [1e-3, 0.5]), "pairwise": ([10, 100], [1e-4, 0.0])}
    figure = plot_sum_errors(errors, {"in_order": ([10, 100], [0.1, 1.0])}, unit_roundoff=2**-11)
    assert title(figure) == "Of 100 terms, in order loses 50%, pairwise 0%"
    assert (figure.axes[0].lines[2].get_ydata() > 0).all()  # zero is drawn on the lower edge


def test_what_becomes_zero_or_infinite_is_counted():
    samples = {"plain": [1e-9, 1e-9, 1.0, 0.0], "scaled": [1.0, 1e6, 1.0, 1.0]}
    words = title(plot_magnitudes(samples, **HALF))
    assert words == ("In float16: plain, 75% become zero; scaled, 0% become zero and 25% infinite")
    with pytest.raises(ValueError, match="all numbers are zero"):
        plot_magnitudes({"nothing": [0.0]}, **HALF)


def test_who_learns_is_said():
    figure = plot_loss_scale({"plain": ([2.0, 2.0], [1.0, 1.0]), "scaled": ([2.0, 0.5], [8, 16])})
    assert title(figure) == "Loss at the end: plain: nothing is learned; scaled: 4 times less"
    assert [len(axes.lines) for axes in figure.axes] == [2, 2]
