"""The pictures of choices say who agrees with the truth, and who regrets least."""

import numpy as np

from ddl_class.plots.searching import plot_choices, plot_regrets
from tests.classroom.plots.figures import WHERE

TRUTH = [["ring", "ring"], ["tree", ""]]


def test_maps_say_how_often_they_agree_with_the_first():
    maps = {"measured": TRUTH, "a tree": [["ring", "tree"], ["tree", ""]]}
    tied = [[False, True], [False, False]]
    figure = plot_choices(maps, ["2", "4"], ["1 KiB", "1 MiB"], tied=tied, **WHERE)
    assert figure._suptitle.get_text() == "The same winner as measured: a tree in 67%"
    assert figure._suptitle.get_text() in figure.alt
    measured, tree = (ax.images[0].get_array() for ax in figure.axes)
    assert (measured[0, 0] == tree[0, 0]).all()
    assert (measured[0, 0] < measured[0, 1]).all(), "a tie is paler"
    assert (measured[1, 1] == 1).all(), "nobody asked there"
    labels = [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]
    assert labels == ["ring", "tree", "(pale: tied)"]


def test_the_least_regret_is_named_with_those_that_are_as_good():
    regrets = {"tree": [0.0, 0.3, 0.1], "network": [0.0, 0.5, 0.1], "always ring": [0.5, 2, 3.0]}
    means = {"tree": (0.13, 0.0, 0.3), "network": (0.2, 0.0, 0.5), "always ring": (1.8, 0.5, 3.0)}
    figure = plot_regrets(regrets, means)
    [ax] = figure.axes
    found = "Least mean regret of a chooser: tree, 13.0%; its interval meets that of network"
    assert ax.get_title(loc="left") == found
    assert found in figure.alt
    assert [text.get_text() for text in ax.get_yticklabels()] == list(regrets)
    dots = [line for line in ax.lines if line.get_marker() == "."]
    np.testing.assert_allclose(dots[2].get_xdata(), [1.5, 3, 4])
