"""Pictures of work and depth: what stands in the title is what was drawn."""

import numpy as np

from ddl_class.plots.work_depth import (
    levels,
    plot_bounds,
    plot_layers,
    plot_operation_graph,
    plot_schedule,
)
from tests.classroom.plots.figures import labels, title

TREE = [[], [], [], [], [0, 1], [2, 3], [4, 5]]


def test_a_schedule_draws_every_operation_on_its_processor():
    figure = plot_schedule(
        [0, 0, 1, 2], [1, 2, 1, 1], [0, 1, 0, 1], 2, kinds=list("abab"), depth=3
    )
    assert title(figure) == "4 operations on 2 processors: 3 steps, and 17% idle"
    (boxes,) = figure.axes[0].collections
    middles = [path.vertices[:4].mean(axis=0).tolist() for path in boxes.get_paths()]
    assert np.allclose(middles, [[0.5, 0], [1, 1], [1.5, 0], [2.5, 1]])
    assert labels(figure) == ["a", "b"]
    assert "longest chain takes 3 steps" in figure.alt


def test_a_graph_stands_by_its_levels_with_a_longest_chain():
    figure = plot_operation_graph(TREE)
    assert title(figure) == "7 operations, and the longest chain has 3"
    assert "4, 2, 1" in figure.alt
    places = figure.axes[0].collections[-1].get_offsets()
    assert places[:, 1].tolist() == [1, 1, 1, 1, 2, 2, 3]
    thin, thick = figure.axes[0].collections[:2]
    assert (len(thin.get_segments()), len(thick.get_segments())) == (4, 2)


def test_levels_in_any_order():
    assert levels([[2], [0], []]).tolist() == [2, 3, 1]


def test_bounds_enclose_what_was_simulated_and_bend_at_the_parallelism():
    figure = plot_bounds(1000, 10, {1: 1000, 16: 70, 1024: 10}, measured={1: 1000.0, 2: 600.0})
    assert title(figure) == "1,024 processors are 100 times as fast as one: there is work for 100"
    high, low, simulated, measured, bend = figure.axes[0].lines
    crew = low.get_xdata()
    assert np.allclose(low.get_ydata(), np.maximum(1000 / crew, 10))
    assert np.allclose(high.get_ydata(), 990 / crew + 10)
    assert list(simulated.get_xdata()) == [1, 16, 1024]
    assert list(measured.get_ydata()) == [1000, 600]
    assert list(bend.get_xdata()) == [100, 100]
    assert "Measured: 1,000 steps on 1, 600 steps on 2." in figure.alt


def test_a_measured_time_far_above_the_bounds_is_in_the_picture():
    figure = plot_bounds(1000, 10, {1: 1000, 4: 250}, measured={1: 9000.0, 4: 2500.0})
    assert figure.axes[0].get_ylim()[1] > 9000


def test_layers_stand_at_their_depth_and_work():
    figure = plot_layers(["a", "b", "c"], [100, 10_000, 5e6], [5, 10, 20], kinds=["x", "y", "y"])
    assert title(figure) == "Work differs 50,000-fold from layer to layer, depth 4-fold"
    drawn = [line.get_xydata().tolist() for line in figure.axes[0].lines[:2]]
    assert drawn == [[[5, 100]], [[10, 10_000], [20, 5e6]]]
    assert "average parallelism 20 to 2.5e+05" in figure.alt
