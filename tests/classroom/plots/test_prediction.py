"""A prediction beside what came out: the title says how far off it was."""

import pytest

from ddl_class.plots.course import plot_prediction
from tests.classroom.plots.figures import title


@pytest.mark.parametrize(
    ("said", "truth", "words"),
    [
        (50_000, 10_000, "You said 50,000, measured 10,000 bytes: 5 times too high"),
        (10_000, 50_000, "You said 10,000, measured 50,000 bytes: 5 times too low"),
        (9_000, 10_000, "You said 9,000, measured 10,000 bytes: within a factor of 2"),
        (10_000, 10_000, "You said 10,000, measured 10,000 bytes: exactly right"),
        (-3, 2, "You said -3, measured 2 bytes: 5 too low"),
    ],
)
@pytest.mark.sampled(2)
def test_the_title_says_how_far_off_it_was(said, truth, words):
    figure = plot_prediction(said, {"measured": truth}, "bytes")
    assert title(figure) == words
    assert words in figure.alt


def test_every_source_has_its_row_and_the_last_one_decides():
    found = {"computed": 24_000.0, "simulated": 25_000.0, "measured": 60_000.0}
    figure = plot_prediction(30_000, found, "bytes")
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["you", "computed", "simulated", "measured"]  # from the top
    assert "measured 60,000" in title(figure)
    assert figure.axes[0].get_xlabel() == "bytes"
    assert "computed 24,000, simulated 25,000, measured 60,000 bytes" in figure.alt


def test_a_formula_is_a_line_a_simulation_hollow_and_a_measurement_filled():
    found = {"computed": 24.0, "simulated": 25.0, "measured": 60.0}
    figure = plot_prediction(30, found, "bytes")
    marks = [line for line in figure.axes[0].lines if line.get_marker() != "None"]
    assert [line.get_marker() for line in marks] == ["D", "|", "s", "o"]
    hollow = [line.get_markerfacecolor() == "none" for line in marks]
    assert hollow == [False, False, True, False]
