"""The picture of nodes says how ranks are placed and what cables carried."""

import pytest

from ddl_class.plots.many_nodes import plot_nodes
from tests.classroom.plots.figures import title


def test_ranks_stand_on_their_nodes_and_cables_lead_to_the_switch():
    figure = plot_nodes([0, 0, 1, 1, 2])
    assert title(figure) == "Of 10 pairs of ranks 2 share a node; 8 are joined by cables"
    assert "node 1: ranks 2, 3" in figure.alt
    assert len(figure.axes[0].lines) == 3


def test_a_cable_is_as_thick_as_what_it_carried():
    figure = plot_nodes([5, 5, 7], [2048, 1024])
    thick, thin = (line.get_linewidth() for line in figure.axes[0].lines)
    assert thick - 0.5 == pytest.approx(2 * (thin - 0.5))
    assert title(figure) == "Node 5's cable carried most, 2 KiB; all together 3 KiB"


def test_one_node_has_no_cables():
    assert not plot_nodes([3, 3, 3]).axes[0].lines
