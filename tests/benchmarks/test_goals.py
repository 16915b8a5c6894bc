"""The page of goals is what the recorded results say, and its verdicts are fair."""

import pytest

from benchmarks import goal_cases
from benchmarks.goal_cases import Case
from benchmarks.goals import GOALS, PAGE, page
from benchmarks.recorded import Measured, Side
from tests.benchmarks.quotations import plain


def test_the_page_is_made_of_what_was_recorded():
    assert PAGE.read_text() == page(), "make it again: python -m benchmarks.goals"


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.title)
def test_every_goal_was_measured_and_says_what_limits_it(goal):
    cases = goal.cases()
    assert cases
    for case in cases:
        assert 0 < case.measured.low <= case.measured.median <= case.measured.high
    assert goal.limit or all(case.verdict != "missed" for case in cases)


@pytest.mark.parametrize(
    ("low", "median", "high", "at_least", "verdict"),
    [
        (0.8, 0.9, 0.95, False, "met"),
        (0.8, 0.9, 1.1, False, "open"),
        (0.8, 1.1, 1.2, False, "open"),
        (1.1, 1.2, 1.3, False, "missed"),
        (1.05, 1.1, 1.2, True, "met"),
        (0.8, 1.1, 1.2, True, "open"),
        (0.8, 0.9, 1.1, True, "open"),
        (0.7, 0.8, 0.9, True, "missed"),
    ],
)
def test_a_verdict_is_that_of_the_median_and_its_interval(low, median, high, at_least, verdict):
    case = Case("a way", Measured(median, low, high), 1.0, at_least)
    assert case.verdict == verdict
    assert case.cells()[-3:] == [f"at {'least' if at_least else 'most'} 1.00", verdict, ""]


def test_a_ratio_has_the_widest_interval_that_the_two_allow():
    assert Measured(2, 1, 4).over(Measured(4, 2, 8)) == Measured(0.5, 1 / 8, 2)


def test_the_best_of_ours_is_the_one_with_the_least_median():
    side = Side("a case", {"slow": Measured(3, 1, 4), "fast": Measured(2, 2, 2)})
    assert goal_cases.best(side, ["slow", "fast", "absent"]).median == 2


def test_a_chooser_meets_its_goal_only_if_it_does_so_at_every_size():
    sizes = [goal_cases.ratios(row)[0] for row in (
        "   3072  1.02 (1.00 to 1.20)  1.03 (1.01 to 1.04)  tree 5, ring 2",
        "  12288  1.04 (1.03 to 1.04)  1.09 (1.06 to 1.12)  tree",
    )]  # fmt: skip
    assert goal_cases.largest(sizes) == Measured(1.04, 1.03, 1.20)
    assert Case("picked", goal_cases.largest(sizes), 1.05).verdict == "open"
    assert goal_cases.ratios("   3072   tree   1.02   1.03   99%") == [
        Measured(1.02, 1.02, 1.02), Measured(1.03, 1.03, 1.03),
    ]  # fmt: skip


def test_unit_08_says_from_where_on_overlapping_pays():
    [milliseconds] = goal_cases.numbers(
        goal_cases.line("data_parallel.txt", "overlapped buckets are faster from")
    )
    said = f"from {milliseconds:.0f} ms a layer on the ring under the pass wins"
    assert said in plain("notebooks/source/08_data_parallelism.py")
