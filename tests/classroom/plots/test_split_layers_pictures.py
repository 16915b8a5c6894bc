"""Cut matrices, layers either way, and times of ways: pictures that say what is so."""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from ddl_class.plots.networks import EVERYBODY, plot_cuts, plot_either_way, plot_ways
from ddl_runtime.pictures.style import rank_colour
from tests.classroom.plots.figures import title


def test_a_cut_matrix_has_a_colour_for_each_rank_and_loses_nothing():
    matrices = [("x", 2, 3, ""), ("A", 3, 6, "columns"), ("B", 6, 3, "rows"), ("y", 2, 3, "sum")]
    figure = plot_cuts(matrices, 3, title="Three ranks")
    assert title(figure) == "Three ranks"
    assert "A by columns, B by rows, y a sum of parts" in figure.alt
    boxes = [one for one in figure.axes[0].patches if isinstance(one, Rectangle)]
    colours = [to_rgb(one.get_facecolor()[:3]) for one in boxes]
    assert colours == [to_rgb(EVERYBODY), *[rank_colour(rank) for rank in range(3)] * 3]
    areas = [one.get_width() * one.get_height() for one in boxes]
    assert np.allclose([areas[0], sum(areas[1:4]), sum(areas[4:7])], [6, 18, 18])
    assert boxes[4].get_y() > boxes[6].get_y()  # rank 0 has the upper rows


def test_the_shorter_bar_is_counted():
    figure = plot_either_way(["one", "two", "three"], [1, 20, 30], [10, 2, 3])
    assert title(figure) == "Layers that send less by data: 1; by model: 2"
    assert [bar.get_width() for bar in figure.axes[0].patches] == [1, 20, 30, 10, 2, 3]


def test_a_way_has_one_colour_on_all_three_grounds():
    x, y = [1, 2, 4], [1e-3, 2e-3, 3e-3]
    curves = {"by data": (x, y), "by model": (x, y[::-1])}
    dots = {name: (*curve, (y, y)) for name, curve in curves.items()}
    figure = plot_ways("images", curves, curves, dots, title="They cross")
    [ax] = figure.axes
    assert title(figure) == "They cross"
    assert [line.get_color() for line in ax.lines[:2]] * 3 == [it.get_color() for it in ax.lines]
    assert ax.get_xlabel() == "images"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["by data", "by model", "predicted", "simulated", "measured"]
