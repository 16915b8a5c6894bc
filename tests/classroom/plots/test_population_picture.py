"""The picture of a population leads every line back to where its state came from."""

import numpy as np

from ddl_class.plots.searching import LOOKS, plot_population

LOSSES = [[2.0, 1.0, 3.0, np.inf], [1.5, 0.9, 0.8, 1.0], [0.7, 0.6, 0.5, 0.9]]
PARENTS = [[0, 1, 2, 3], [0, 1, 1, 1], [0, 1, 2, 2]]
RATES = [[0.1, 0.2, 0.3, 9.0], [0.1, 0.2, 0.24, 0.16], [0.1, 0.2, 0.24, 0.288]]


def lines(ax, name):
    return [line.get_ydata() for line in ax.lines if line.get_color() == LOOKS[name]["color"]]


def test_lines_lead_from_parents_to_children_and_the_best_has_a_way():
    figure = plot_population(LOSSES, PARENTS, RATES)
    left, right = figure.axes
    copied = [tuple(line) for line in lines(left, "goes on from a winner's state")]
    assert copied == [(1.0, 0.8), (1.0, 1.0), (0.8, 0.9)]
    assert [list(line) for line in lines(left, "way of the best")] == [[1.0, 0.8, 0.5]]
    assert [list(line) for line in lines(right, "way of the best")] == [[0.2, 0.24, 0.24]]
    assert len(lines(left, "goes on")) == 5


def test_the_title_says_who_has_descendants_and_where_the_schedule_led():
    figure = plot_population(LOSSES, PARENTS, RATES)
    found = "All 4 members descend from 2 of the first; the best's rate went from 0.2 to 0.24"
    assert found in figure.alt
    assert figure.get_suptitle() == found
    alone = plot_population([[1.0]], [[0]], [[0.5]])
    assert "the best's rate stayed at 0.5" in alone.alt
