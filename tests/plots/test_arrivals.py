"""The picture of who came first: every turn, every rank, and the count in its title."""

import numpy as np
import pytest

from ddl_teach.plots.arrivals import finding, plot_arrivals


def test_the_title_counts_orders_and_those_by_number():
    times = [[1, 2, 3, 1], [2, 1, 4, 2], [3, 3, 5, 3]]  # by number in turns 0, 2 and 3
    picture = plot_arrivals(times)
    assert (
        picture.axes[0].get_title(loc="left") == "4 turns, 2 different orders: 3 times by number"
    )
    assert "2 different orders" in picture.alt


def test_each_column_has_the_ranks_from_first_to_last():
    generator = np.random.default_rng(5)
    times = generator.random((4, 50))
    [mesh] = plot_arrivals(times).axes[0].collections
    drawn = np.asarray(mesh.get_array()).reshape(4, 50)
    assert (np.take_along_axis(times, drawn, axis=0) == np.sort(times, axis=0)).all()


def test_one_turn_of_one_rank():
    assert finding(np.zeros((1, 1), int)) == "1 turns, 1 different order: 1 times by number"


@pytest.mark.parametrize("times", [[], [[]], [1.0, 2.0]])
def test_what_is_no_table_is_refused(times):
    with pytest.raises(ValueError, match="a row for each rank"):
        plot_arrivals(times)
