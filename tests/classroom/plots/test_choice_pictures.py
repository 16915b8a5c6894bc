"""The pictures of choices say who agrees with the truth, and who regrets least."""

import numpy as np
import pytest

from ddl_teach.plots.choices import plot_choices, plot_regrets

TRUTH = [["ring", "ring"], ["tree", ""]]
WHERE = {"row_quantity": "ranks", "column_quantity": "bytes of a vector"}


def test_maps_say_how_often_they_agree_with_the_first():
    maps = {"measured": TRUTH, "a tree": [["ring", "tree"], ["tree", ""]]}
    tied = [[False, True], [False, False]]
    figure = plot_choices(maps, ["2", "4"], ["1 KiB", "1 MiB"], tied=tied, **WHERE)
    assert figure._suptitle.get_text() == "As measured: a tree 67%"
    assert figure._suptitle.get_text() in figure.alt
    measured, tree = (ax.images[0].get_array() for ax in figure.axes)
    assert (measured[0, 0] == tree[0, 0]).all()
    assert (measured[0, 0] < measured[0, 1]).all(), "a tie is paler"
    assert (measured[1, 1] == 1).all(), "nobody asked there"
    labels = [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]
    assert labels == ["ring", "tree", "(pale: tied)"]


def test_one_map_alone_says_how_many_win():
    figure = plot_choices({"measured": TRUTH}, ["2", "4"], ["1 KiB", "1 MiB"], **WHERE)
    assert figure._suptitle.get_text() == "measured: 2 ways win somewhere"
    with pytest.raises(ValueError, match=r"the map of other has shape \(1, 2\), not \(2, 2\)"):
        plot_choices({"other": [["ring", "tree"]]}, ["2", "4"], ["1", "2"], **WHERE)


def test_the_least_regret_is_named_with_those_that_are_as_good():
    regrets = {"tree": [0.0, 0.3, 0.1], "network": [0.0, 0.5, 0.1], "always ring": [0.5, 2, 3.0]}
    means = {"tree": (0.13, 0.0, 0.3), "network": (0.2, 0.0, 0.5), "always ring": (1.8, 0.5, 3.0)}
    figure = plot_regrets(regrets, means)
    [ax] = figure.axes
    found = "Least mean regret: tree, 13.0%; its interval meets that of network"
    assert ax.get_title(loc="left") == found
    assert found in figure.alt
    assert [text.get_text() for text in ax.get_yticklabels()] == list(regrets)
    dots = [line for line in ax.lines if line.get_marker() == "."]
    np.testing.assert_allclose(dots[2].get_xdata(), [1.5, 3, 4])
    with pytest.raises(ValueError, match="give both of each chooser"):
        plot_regrets(regrets, {"tree": (0.1, 0.0, 0.2)})
