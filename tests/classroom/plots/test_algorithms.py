"""Times over sizes: what is given is drawn, and the title says what it shows."""

import numpy as np
import pytest

from ddl_class.plots.messages import plot_times
from ddl_runtime.pictures.style import ALGORITHM_COLOURS, algorithm_colour

SIZES = 2.0 ** np.arange(6, 20, 2)
RING = (SIZES, 1e-5 + SIZES * 1e-9)
DOUBLING = (SIZES, 2e-6 + SIZES * 4e-9)


def test_each_curve_is_drawn_with_its_points():
    figure = plot_times({"ring": RING}, {"ring": RING, "tree": DOUBLING})
    drawn = [line for line in figure.axes[0].lines if len(line.get_xdata())]
    assert len(drawn) == 3
    for line, (sizes, times) in zip(drawn, (RING, RING, DOUBLING), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), sizes)
        np.testing.assert_array_equal(line.get_ydata(), times)


def test_unsorted_sizes_give_a_line_that_does_not_turn_back():
    figure = plot_times({"ring": (SIZES[::-1], RING[1][::-1])})
    assert (np.diff(figure.axes[0].lines[0].get_xdata()) > 0).all()


def test_intervals_are_drawn():
    sizes, times = RING
    figure = plot_times(measured={"ring": (sizes, times, (times * 0.9, times * 1.2))})
    segments = figure.axes[0].collections[0].get_segments()
    assert [segment[0][1] for segment in segments] == pytest.approx(times * 0.9)
    assert [segment[1][1] for segment in segments] == pytest.approx(times * 1.2)


def test_the_alt_text_tells_where_each_curve_lies():
    alt = plot_times({"ring": RING}, measured={"ring": (SIZES, 2 * RING[1])}).alt
    assert "Ring, predicted: 10.1 µs for 64 B to 272 µs for 256 KiB." in alt
    assert "Ring, measured: 20.1 µs for 64 B to 544 µs for 256 KiB." in alt


def test_of_curves_that_coincide_each_can_be_seen():
    figure = plot_times({"ring": RING, "tree": RING}, {"ring": RING, "tree": RING})
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata())]
    below, above, large, small = lines
    assert below.get_linewidth() > above.get_linewidth()
    assert large.get_markersize() > small.get_markersize()


def test_axes_say_their_units_and_an_alt_text_exists():
    figure = plot_times({"ring": RING})
    assert figure.axes[0].get_xlabel() == "vector of each rank (bytes)"
    figure.canvas.draw()
    units = {label.get_text().split()[-1] for label in figure.axes[0].get_yticklabels()}
    assert units <= {"", "s", "ms", "µs", "ns"}
    assert "predicted" in figure.alt


def test_algorithms_keep_their_colours():
    assert len(set(ALGORITHM_COLOURS.values())) == len(ALGORITHM_COLOURS)
    assert algorithm_colour("ring", 0) == algorithm_colour("ring", 3)
    assert algorithm_colour("my own", 0) != algorithm_colour("my other", 1)
