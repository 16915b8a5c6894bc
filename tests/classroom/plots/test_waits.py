"""The picture of a deadlock shows its ring, and whoever waits behind it."""

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import Deadlock
from ddl_runtime.pictures.style import Picture
from ddl_runtime.pictures.waits import CLOSED
from ddl_teach import simulate


def deadlock(program, ranks):
    with pytest.raises(Deadlock) as caught:
        simulate(program, ranks)
    return caught.value


def after_you(comm):
    x = np.zeros(100)
    comm.recv(x, (comm.rank + 1) % comm.size, tag=7)
    comm.send(x, (comm.rank - 1) % comm.size, tag=7)


def forgotten(comm):
    if comm.rank:
        comm.recv(np.zeros(10), 0)


def closing(figure):
    """The arrows that close the ring."""
    red = plot_colour(CLOSED)
    return [patch for patch in figure.axes[0].patches if patch.get_edgecolor()[:3] == red]


def plot_colour(name):
    return tuple(int(name[k : k + 2], 16) / 255 for k in (1, 3, 5))


def words(figure):
    return "\n".join(text.get_text() for text in figure.axes[0].texts)


@pytest.mark.parametrize("ranks", [2, 3, 5, 12])
def test_the_ring_is_drawn_with_an_arrow_for_each_wait(ranks):
    figure = deadlock(after_you, ranks).plot()
    assert isinstance(figure, Picture)
    assert len(closing(figure)) == ranks
    assert words(figure).count("tag=7") == ranks
    title = figure.axes[0].get_title(loc="left")
    assert title.startswith(f"{ranks} ranks wait for each other in a ring: 0 → 1 →")


def test_the_alt_text_says_who_waits_for_whom_in_which_call():
    alt = deadlock(after_you, 3).plot().alt
    assert "Rank 2 waits for rank 0 in recv(source=0, tag=7) of 800 bytes float64." in alt


def test_who_has_returned_is_shown_as_such():
    figure = deadlock(forgotten, 4).plot()
    assert closing(figure) == []
    assert "has returned" in words(figure)
    assert "3 ranks wait for what can never come" in figure.alt


def test_a_rank_that_waits_for_itself():
    figure = deadlock(lambda comm: comm.recv(np.zeros(1), comm.rank), 1).plot()
    assert "Rank 0 waits for itself" in figure.alt
    assert len(closing(figure)) == 1


def test_of_many_ranks_some_are_drawn_and_the_rest_is_counted():
    figure = deadlock(after_you, 100).plot()
    assert "and 88 more ranks that wait" in words(figure)
    assert "100 ranks wait" in figure.alt
