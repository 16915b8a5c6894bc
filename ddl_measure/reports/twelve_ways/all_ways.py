"""The twelve, in Hoefler's order.

for trick in all_tricks(true_measurements()):
    plot_fooling(trick.fools, trick.honest)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ddl_measure.reports.report import Report
from ddl_measure.reports.twelve_ways.choose_the_baseline import choose_the_baseline
from ddl_measure.reports.twelve_ways.hide_tuning import hide_tuning
from ddl_measure.reports.twelve_ways.ignore_accuracy import ignore_accuracy
from ddl_measure.reports.twelve_ways.large_inputs import large_inputs
from ddl_measure.reports.twelve_ways.most_operations import most_operations
from ddl_measure.reports.twelve_ways.no_input import no_input
from ddl_measure.reports.twelve_ways.no_test_accuracy import no_test_accuracy
from ddl_measure.reports.twelve_ways.old_hardware import old_hardware
from ddl_measure.reports.twelve_ways.only_kernels import only_kernels
from ddl_measure.reports.twelve_ways.the_right_time import the_right_time
from ddl_measure.reports.twelve_ways.trick import Trick
from ddl_measure.reports.twelve_ways.two_sets_of_options import two_sets_of_options
from ddl_measure.reports.twelve_ways.weak_as_strong import weak_as_strong

WAYS: tuple[Callable[[Report], Trick], ...] = (
    ignore_accuracy, no_test_accuracy, hide_tuning, old_hardware, only_kernels, no_input,
    most_operations, two_sets_of_options, large_inputs, the_right_time, weak_as_strong,
    choose_the_baseline,
)  # fmt: skip


def all_tricks(true: Report) -> Iterator[Trick]:
    """All twelve, carried out on the same true measurements."""
    return (way(true) for way in WAYS)
