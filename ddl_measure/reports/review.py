"""Read a report as a careful reader does: what is missing, what does not follow, what to do next.

    for finding in review(load("mine.json")):
        print(finding)

Each rule reads the same plain data and knows nothing of the others. No author is accused: most
misleading reports were written by people who misled themselves first. An empty answer means that
what is claimed follows from what is shown; not that what is shown is true, nor that it was worth
doing.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ddl_measure.reports import comparing, numbers, saying
from ddl_measure.reports import training_faults as training
from ddl_measure.reports.cases import cases, each_series, trained
from ddl_measure.reports.findings import FAULTS, Finding
from ddl_measure.reports.report import Report
from ddl_runtime.diagnosis.page import folded

RULES: tuple[tuple[Callable[[Report], Any], tuple[Callable[..., Iterator[Finding]], ...]], ...] = (
    (lambda report: [(report,)], (saying.what_is_missing, saying.what_is_unclear, training.seeds)),
    (each_series, (numbers.repetitions, numbers.enough, numbers.coarse_ticks)),
    (
        lambda report: ((case,) for case in cases(report)),
        (
            numbers.claimed_numbers, numbers.few_samples, numbers.few_answers,
            training.accuracy,
            training.the_way_there, training.same_seeds, training.budgets,
            training.what_time_includes,
            comparing.hardware, comparing.cores, comparing.all_ranks, comparing.batches,
            comparing.inputs, comparing.operations, comparing.state_of_the_art,
        ),
    ),
    (lambda report: ((report, entry) for entry in trained(report)), (training.all_trials,)),
)  # fmt: skip
"""What rules look at, and the rules that do."""


def review(report: Report) -> tuple[Finding, ...]:
    """All that is wrong with a report, each thing once."""
    return tuple(
        dict.fromkeys(
            finding
            for things, rules in RULES
            for rule in rules
            for thing in things(report)
            for finding in rule(*thing)
        )
    )


def told(findings: Sequence[Finding]) -> str:
    """The findings as a text: what a reader would wrongly believe, and what to do next.

    A fault that stands in many places for the same reason is reported once.
    """
    if not findings:
        return "Nothing found: what is claimed follows from what is shown."
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.fault, finding.next), []).append(finding)
    lines = []
    for (name, advice), group in alike.items():
        fault, first = FAULTS[name], group[0]
        more = f" and {len(group) - 1} more" if len(group) > 1 else ""
        lines += [
            f"{first.where}{more}: {name} ({fault.source})",
            f"    {first.found}; a reader believes {fault.believed}",
            f"    next: {advice}",
        ]
    return folded("\n".join(lines))
