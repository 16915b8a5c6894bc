"""Pictures of gossip say what their data say."""

import numpy as np
import pytest

from ddl_class.plots.gossip import plot_consensus, plot_disagreement, plot_graphs
from tests.classroom.plots.figures import title


def test_graphs_are_drawn_link_by_link_and_their_busiest_rank_is_named():
    both_ways = (((1, 2), (0,), (0,)),)
    one_by_one = (((1,), (2,), (0,)), ((2,), (0,), (1,)))
    figure = plot_graphs({"star": both_ways, "turning": one_by_one})
    assert [len(ax.patches) for ax in figure.axes] == [4, 6]
    assert figure.get_suptitle() == "Messages a rank sends in a step: 2 (star), 1 (turning)"
    assert figure.get_suptitle() in figure.alt
    arrows = {patch.get_edgecolor() for patch in figure.axes[1].patches}
    assert len(arrows) == 2  # a colour for each step


def test_consensus_is_relative_and_what_is_left_is_named():
    figure = plot_consensus({"ring": [2.0, 1.0, 0.5], "pairs": [3.0, 1.5, 0.0]})
    assert title(figure) == "After 2 steps pairs leaves nothing, ring 25%"
    assert title(figure) in figure.alt
    assert figure.axes[0].lines[0].get_ydata().tolist() == [1.0, 0.5, 0.25]
    grown = plot_consensus({"a": [1.0, 2.0], "b": [1.0, 30.0]}, {"a": [1.0, 2.0]})
    assert len(grown.axes[0].lines) == 3
    assert grown.axes[0].get_xlabel() == "steps (dots measured, lines predicted)"


def test_what_was_simulated_is_not_said_to_be_measured():
    runs = {"ring": [2.0, 1.0]}
    [ax] = plot_consensus(runs, runs, how="simulated").axes
    assert ax.get_xlabel() == "steps (squares simulated, lines predicted)"
    assert (ax.lines[1].get_marker(), ax.lines[1].get_markerfacecolor()) == ("s", "none")


def test_under_noise_the_furthest_and_the_nearest_graph_are_named():
    points = {"ring": ([0.5, 0.9], [1.0, 2.0]), "exponential": ([0.5], [1.1])}
    figure = plot_disagreement(points, points)
    assert "up to 2 apart on ring, 1.1 apart on exponential" in title(figure)
    bound = figure.axes[0].lines[-1]
    gaps, most = (np.asarray(data) for data in bound.get_data())
    assert most == pytest.approx(1 / np.sqrt(1 - (1 - gaps) ** 2))
    low, high = figure.axes[0].get_xlim()
    assert low > high  # eigenvalues near 1 stand on the right
