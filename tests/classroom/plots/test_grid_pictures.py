"""Grids as pictures: every rank is in its place, every second is in the bar."""

import pytest

from ddl_class.plots.networks import PARTS, plot_places, plot_shares
from ddl_teach.theory.grids.grid import Grid


def test_each_rank_has_a_square_in_the_colour_of_its_node():
    grid = Grid(data=2, pipeline=3, tensor=2, context=2)
    places = [grid.place(rank) for rank in range(grid.ranks)]
    places = [(one.data, one.pipeline, one.tensor, one.context) for one in places]
    figure = plot_places(places, 8, title="Three nodes")
    [ax] = figure.axes
    assert [text.get_text() for text in ax.texts] == [str(rank) for rank in range(24)]
    corners = {patch.get_xy() for patch in ax.patches}
    assert len(corners) == 24
    colours = [patch.get_facecolor() for patch in ax.patches]
    assert len(set(colours)) == 3
    assert colours[:8] == [colours[0]] * 8
    assert "24 ranks: data 2, pipeline 3, tensor 2, context 2" in figure.alt


def test_bars_add_up_to_the_step():
    parts = {"compute": [2.0, 1.0], "bubble": [0.5, 0.0], "data": [0.25, 0.5]}
    figure = plot_shares(["one", "two"], parts, title="One", also={"simulated": [2.5, 1.4]})
    [ax] = figure.axes
    ends = [patch.get_x() + patch.get_width() for patch in ax.patches]
    assert max(ends) == pytest.approx(2.75)
    assert ends[-1] == pytest.approx(1.5)
    [dots] = ax.lines
    assert list(dots.get_xdata()) == [2.5, 1.4]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["simulated", *(PARTS[name][0] for name in parts)]
    assert "one 2.75 s; two 1.5 s" in figure.alt


@pytest.mark.parametrize("parts", [{}, {"waiting": [1.0]}])
def test_parts_that_nobody_knows_are_refused(parts):
    with pytest.raises(ValueError, match="parts of a step are compute, bubble"):
        plot_shares(["one"], parts, title="None")
