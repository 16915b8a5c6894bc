"""The twelve ways: they fool with true numbers, and are found out."""

from math import inf

import pytest

from ddl_class.notebook.true_measurements import true_measurements
from ddl_class.plots.honesty import plot_fooling
from ddl_measure.reports.report import Report
from ddl_measure.reports.review import review, told
from ddl_measure.reports.twelve_ways import curves
from ddl_measure.reports.twelve_ways.all_ways import GOOD, QUICK, WAYS
from ddl_measure.reports.twelve_ways.trick import entry_of


@pytest.fixture(scope="module")
def true():
    return true_measurements()


def values(report):
    return {value for it in report.entries for series in it.series for value in series.values}


def test_nothing_is_found_in_the_true_measurements(true):
    assert told(review(true)).startswith("Nothing found")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_way_fools_with_true_numbers_and_is_found(way, true):
    trick = way(true)
    found = review(trick.fooling)
    assert trick.fault in {finding.fault for finding in found}, told(found)
    assert "unclear" not in {finding.fault for finding in found}
    assert values(trick.fooling) - {float("inf")} <= values(true)
    assert trick.fools != trick.honest
    for panel in (trick.fools, trick.honest):
        assert panel.title
        assert panel.y
        assert all(len(line.x) == len(line.y) > 0 for line in panel.lines)
    picture = plot_fooling(trick.fools, trick.honest, title=trick.name)
    left, right = picture.axes
    assert left.get_title("left") == trick.fools.title
    assert trick.honest.title in picture.alt
    assert right.get_ylabel() == trick.honest.y


def test_ways_are_in_order_and_say_what_they_lack(true):
    assert [way(true).way for way in WAYS] == list(range(1, 13))
    for way in WAYS:
        with pytest.raises(ValueError, match=r"has no entry .* benchmarks\.twelve_ways"):
            way(Report(entries=()))


def test_who_chooses_the_target_afterwards_chooses_the_winner(true):
    def firsts(name, target):
        entry = entry_of(true, name)
        pairs = zip(curves.seconds(entry), curves.accuracies(entry), strict=True)
        return curves.to_target([*pairs], target)

    # As unit 18 says of its table.
    assert firsts(QUICK, 0.85) < firsts(GOOD, 0.85)
    assert firsts(GOOD, 0.93) < firsts(QUICK, 0.9) == inf
