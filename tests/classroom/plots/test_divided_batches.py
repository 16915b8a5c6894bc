"""Fronts, limits and divisions: titles state findings, and all of it stands in the alt text."""

import numpy as np
import pytest

from ddl_class.plots.convolutions import METHOD_COLOURS
from ddl_class.plots.memory import plot_divisions, plot_front, plot_limits
from tests.classroom.plots.figures import title


def test_a_front_is_a_staircase_with_whole_batches_beside_it():
    whole = {"im2col": (5 << 20, 0.025), "direct": (0, 0.04)}
    figure = plot_front([1 << 20, 1 << 18, 8 << 20], [0.02, 0.03, 0.009], whole)
    assert title(figure) == "3 divisions can be best: 30 ms in 256 KiB to 9 ms in 8 MiB"
    assert title(figure) in figure.alt
    assert "im2col 25 ms in 5 MiB, direct 40 ms in 0 B" in figure.alt
    steps, *_ = figure.axes[0].get_lines()
    assert steps.get_drawstyle() == "steps-post"
    assert list(steps.get_ydata()) == [0.03, 0.02, 0.009, 0.009]


def test_a_point_below_the_staircase_is_told():
    others = {"point 3": (4 << 20, 0.001), "point 5": (4 << 20, 0.5), "point 6": (1 << 10, 9.0)}
    figure = plot_front([1 << 20, 8 << 20], [0.02, 0.003], others)
    assert title(figure) == "point 3 is below the line, so it is not beaten"


def test_limits_that_nothing_fits_into_are_gaps():
    limits = [1 << 20, 2 << 20, 4 << 20]
    curves = {"whole": [np.nan, 0.03, 0.02], "pieces": [0.05, 0.03, 0.01]}
    figure = plot_limits(limits, curves, {"network": [0.06, 0.03, 0.02]}, title="Pieces win")
    assert "whole, predicted: 30 ms in 2 MiB; whole, predicted: 20 ms in 4 MiB" in figure.alt
    assert "network, measured: 60 ms in 1 MiB" in figure.alt
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["whole, predicted", "pieces, predicted", "network, measured"]


def test_a_divisions_pieces_lie_side_by_side_in_their_methods_colours():
    rows = {"1 MiB": [("direct", 16)], "8 MiB": [("fft", 12), ("winograd_4x4", 4)]}
    figure = plot_divisions(rows, title="The limit picks the method")
    bars = [(bar.get_x(), bar.get_width()) for bar in figure.axes[0].patches]
    assert bars == [(0, 16), (0, 12), (12, 4)]
    assert figure.axes[0].patches[1].get_facecolor()[:3] == pytest.approx(
        [int(METHOD_COLOURS["fft"][k : k + 2], 16) / 255 for k in (1, 3, 5)]
    )
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["1 MiB", "8 MiB"]
    assert "8 MiB: FFT of 12, Winograd 4x4 of 4" in figure.alt
