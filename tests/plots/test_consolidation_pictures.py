"""The pictures of consolidated networks say what came out."""

import pytest

from ddl_teach.plots.consolidation import plot_consolidated, plot_line


def test_the_title_names_the_best_and_the_worst():
    figure = plot_consolidated({"members": [0.9, 0.92, 0.91], "average": [0.5], "both": [0.95]})
    [ax] = figure.axes
    found = "Best: both, 95.0%; worst: average, 50.0%"
    assert ax.get_title(loc="left") == found
    assert found in figure.alt
    assert [text.get_text() for text in ax.texts] == ["91.0%", "50.0%", "95.0%"]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in dots] == [3, 1, 1]


def test_a_hill_is_measured_from_its_higher_end():
    lines = {"as they are": ([0, 0.5, 1], [0.1, 1.0, 0.2]), "matched": ([0, 0.5, 1], [1, 1, 1])}
    figure = plot_line(lines)
    [ax] = figure.axes
    assert ax.get_title(loc="left") == (
        "The hill between two networks: 0.8 (as they are), 0 (matched)"
    )
    assert ax.get_title(loc="left") in figure.alt
    assert {text.get_text() for text in ax.texts} == set(lines)
    assert ax.get_ylim()[0] == 0


def test_nothing_cannot_be_drawn():
    with pytest.raises(ValueError, match="at least one way"):
        plot_consolidated({})
    with pytest.raises(ValueError, match="at least one line"):
        plot_line({})
