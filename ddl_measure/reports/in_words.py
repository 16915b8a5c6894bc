"""A report as a reader wants it: what ran, on what, how often, what came out, what it leaves open.

Every line is made from the report's own data: what it does not say is not said here either.
What to look at: the last part. It grows with what was not run, not with modesty.
"""

from collections import Counter

from ddl_measure.interval import coverage, interval
from ddl_measure.reports.cases import timed
from ddl_measure.reports.report import Report, Series
from ddl_runtime.diagnosis.page import folded


def in_words(report: Report) -> str:
    """The whole report on one page."""
    made, tried = report.made, Counter(trial.outcome for trial in report.trials or ())
    rows = []
    if made is not None:
        rows.append(("run", f"{made.date}: {made.command}"))
        rows.append(("", f"code {made.code}, lock {made.lock}"))
    for name, machine in (report.machines or {}).items():
        known = "; ".join(f"{what} {value}" for what, value in machine.items())
        rows.append(("on", f"{name}: {known}"))
    for entry in report.entries or ():
        rows.append(("what", f"{entry.name}: {entry.ranks} ranks, batch {entry.batch}"))
        rows += [("", _found(series)) for series in entry.series or ()]
    rows.append(("tried", ", ".join(f"{count} {outcome}" for outcome, count in tried.items())))
    if target := report.target:
        fixed = f"{target.accuracy:.0%}, {target.split}, fixed {target.fixed} the runs"
        rows.append(("target", fixed))
    rows += [("open", question) for question in left_open(report)]
    lines = (f"{name:7}{folded(' ' * 7 + words)[7:]}" for name, words in rows)
    return "\n".join([str(report.title), *lines])


def _found(series: Series) -> str:
    """Median and interval, how often, and how many never came there."""
    values = series.values or ()
    middle, low, high = interval(values, series.confidence)
    sure = min(series.confidence, coverage(len(values))) if len(values) > 1 else 0.0
    ends = f"{sure:.0%} interval {low:.3g} to {high:.3g}"
    never = values.count(float("inf"))
    lost = f", {never} of them never there" if never else ""
    where = f" on data {series.split}" if series.split else ""
    unit = f" {series.unit}" if series.unit != "1" else ""
    return (
        f"{series.quantity}{where}: median {middle:.3g}{unit}, {ends}; {series.ground} "
        f"{series.repeated} times{lost}"
    )


def left_open(report: Report) -> list[str]:
    """What a reader may not conclude."""
    open_questions = list(report.left_out or ())
    if len(report.machines or {}) == 1:
        open_questions.append("another machine, network or hour: all of it ran on this one")
    if all(claim.baseline is None for claim in report.claims or ()):
        open_questions.append("whether it is fast: nothing ran beside it")
    for entry in (entry for entry in report.entries or () if entry.searched):
        seeds = {
            trial.seed
            for trial in report.trials or ()
            if trial.entry == entry.name and trial.outcome != "kept"
        }
        tried = f"{entry.searched} were tried, on {len(seeds)} seed{'s' * (len(seeds) != 1)}"
        open_questions.append(f"whether {entry.name} has the best settings: {tried}")
    if any(timed(series) for entry in report.entries or () for series in entry.series or ()):
        open_questions.append("what else the machine did: intervals hold for runs like these")
    return open_questions
