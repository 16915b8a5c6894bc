"""Rules about what must be said, and said so that others understand it.

Which fields are necessary depends on what is claimed: an all-reduce has no accuracy, a training
has one. `None` is found, an empty tuple is an answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ddl_measure.reports.cases import Case, cases, place_of, timed, trained
from ddl_measure.reports.findings import WORDS, Finding, finding
from ddl_measure.reports.report import (
    BASELINES,
    GROUNDS,
    OUTCOMES,
    QUANTITIES,
    SPLITS,
    SUBJECTS,
    SUMMARIES,
    Entry,
    Report,
    Series,
)

ALLOWED: Mapping[str, Sequence[str]] = {
    "ground": GROUNDS, "split": SPLITS, "chosen_on": SPLITS, "about": SUBJECTS,
    "baseline_is": BASELINES, "outcome": OUTCOMES, "scaling": ("strong", "weak"),
    "fixed": ("before", "after"), "better": ("lower", "higher"),
    "taken": ("at the end", "on the way", "best on the way"),
    "over_ranks": ("slowest", "mean", "rank 0", "fastest"),
}  # fmt: skip
NEEDED: Mapping[str, Sequence[str]] = {
    thing: fields.split() for thing, fields in WORDS["needed"].items()
}
COUNTS = "ranks cores batch repeated".split()


def what_is_missing(report: Report) -> Iterator[Finding]:
    """Fields that are needed, whatever else the report says."""
    yield from _said("report", report, "report")
    if report.made is not None:
        yield from _said("made", report.made, "made")
        if (report.made.code or "").endswith("+changes"):
            yield finding("own_changes", "made.code", code=report.made.code)
    for name, machine in (report.machines or {}).items():
        lacking = (field for field in NEEDED["machine"] if not machine.get(field))
        yield from (_missing(f"machines['{name}']", field) for field in lacking)
    for place, entry in enumerate(report.entries or ()):
        where = f"entries[{place}]"
        yield from _said("entry", entry, where)
        for number, series in enumerate(entry.series or ()):
            yield from _said("series", series, f"{where}.series[{number}]")
            for field in _needed_of_series(entry, series):
                if not getattr(series, field):
                    yield _missing(f"{where}.series[{number}]", field)
    for place, trial in enumerate(report.trials or ()):
        yield from _said("trial", trial, f"trials[{place}]")
    for entry in trained(report):
        chosen = ("chosen_on",) if entry.searched else ()
        yield from _lacking(entry, ("batch", "shape", "searched", *chosen))
    for case in cases(report):
        yield from _said("claim", case.claim, case.where)
        yield from _said_for_claim(case)


def what_is_unclear(report: Report) -> Iterator[Finding]:
    """Words that are not the format's, units of another quantity, names of no entry."""
    entries = report.entries or ()
    names = [entry.name for entry in entries]
    for place, entry in enumerate(entries):
        where = f"entries[{place}]"
        yield from _words(entry, where)
        if entry.machine is not None and entry.machine not in (report.machines or {}):
            yield finding("nobody", f"{where}.machine", kind="machine", name=entry.machine)
        if names.count(entry.name) > 1:
            yield finding("two_of_a_name", f"{where}.name", name=entry.name)
        for number, series in enumerate(entry.series or ()):
            yield from _words(series, f"{where}.series[{number}]")
            yield from _unclear_series(series, f"{where}.series[{number}]")
    for place, trial in enumerate(report.trials or ()):
        yield from _words(trial, f"trials[{place}]")
        if trial.entry is not None and trial.entry not in names:
            yield finding("nobody", f"trials[{place}].entry", kind="entry", name=trial.entry)
    if report.target is not None:
        yield from _words(report.target, "target")
    for case in cases(report):
        claim = case.claim
        yield from _words(claim, case.where)
        for name in (*(claim.entries or ()), *((claim.baseline,) if claim.baseline else ())):
            if name not in names:
                yield finding("nobody", f"{case.where}.entries", kind="entry", name=name)
        yield from _what_the_baseline_is(case)
        summary = (claim.summary or SUMMARIES[0]).removeprefix("percentile ")
        if summary not in SUMMARIES and not summary.isdigit():
            where = f"{case.where}.summary"
            yield finding("unknown_word", where, word=summary, allowed=SUMMARIES)


def _said(kind: str, thing: Any, where: str) -> Iterator[Finding]:
    for field in NEEDED[kind]:
        value = getattr(thing, field)
        if value is None or (value in ((), "") and field not in NEEDED["may_be_empty"]):
            yield _missing(where, field)


def _lacking(entry: Entry, fields: Iterable[str]) -> Iterator[Finding]:
    return (_missing(place_of(entry), field) for field in fields if getattr(entry, field) is None)


def _needed_of_series(entry: Entry, series: Series) -> Iterator[str]:
    """The fields that such a quantity needs besides."""
    quantity = series.quantity
    if timed(series) or quantity == "joules":
        yield "includes"
    if timed(series) and (entry.ranks or 1) > 1:
        yield "over_ranks"
    if quantity in ("accuracy", "loss"):
        yield from ("split", "taken")
    if quantity == "operations a second":
        yield "counted"
    if quantity is not None and quantity not in QUANTITIES:
        yield "better"


def _said_for_claim(case: Case) -> Iterator[Finding]:
    claim, report = case.claim, case.report
    learnt = case.training or claim.about == "inference"
    for entry in case.everybody:
        if case.series(entry) is None and claim.quantity is not None and claim.of is not None:
            yield finding("not_measured", place_of(entry), case=case)
        if claim.about == "inference":
            yield from _lacking(entry, ("batch", "shape"))
    several = len({entry.ranks for entry in case.everybody}) > 1
    wanted = {
        "data": learnt or claim.about == "search", "trials": case.training,
        "target": case.to_target,
    }  # fmt: skip
    for field in (name for name in wanted if wanted[name]):
        if getattr(report, field) is None:
            yield _missing("report", field)
        elif field in NEEDED:
            yield from _said(field, getattr(report, field), field)
    if claim.baseline is not None and claim.baseline_is is None:
        yield _missing(case.where, "baseline_is")
    if claim.baseline_is is not None and claim.baseline is None:
        yield _missing(case.where, "baseline")
    if several and learnt and not case.to_target and claim.scaling is None:
        yield _missing(case.where, "scaling")


def _what_the_baseline_is(case: Case) -> Iterator[Finding]:
    """What it is called, and what it is."""
    base, series = case.baseline, case.series(case.baseline)
    if base is None:
        return
    parallel = base.ranks not in (None, 1) and f"it has {base.ranks} ranks"
    same = {entry.machine for entry in case.entries} == {base.machine}
    contrary = {
        "one rank": parallel,
        "best serial": parallel,
        "other machine": same and "it is the same machine",
        "theory": series is not None and series.ground == "measured" and "it was measured",
    }.get(case.claim.baseline_is or "")
    if contrary:
        words = {"name": base.name, "called": case.claim.baseline_is, "contrary": contrary}
        yield finding("contrary_baseline", f"{case.where}.baseline_is", **words)


def _words(thing: Any, where: str) -> Iterator[Finding]:
    for field, allowed in ALLOWED.items():
        word = getattr(thing, field, None)
        if word is not None and word not in allowed:
            listed = ", ".join(allowed)
            yield finding("unknown_word", f"{where}.{field}", word=word, allowed=listed)
    for field in COUNTS:
        count = getattr(thing, field, None)
        if count is not None and count < 1:
            yield finding("less_than_one", f"{where}.{field}", count=count)


def _unclear_series(series: Series, where: str) -> Iterator[Finding]:
    values, unit = series.values or (), QUANTITIES.get(series.quantity or "", (series.unit,))[0]
    if series.unit not in (None, unit):
        yield finding("other_unit", f"{where}.unit", series=series, unit=unit)
    if series.repeated is not None and series.repeated < len(values):
        yield finding("too_many_values", f"{where}.repeated", series=series, count=len(values))
    if series.quantity == "accuracy" and not all(0 <= value <= 1 for value in values):
        yield finding("no_share", f"{where}.values")
    if series.deterministic and len(set(values)) > 1:
        yield finding("values_differ", f"{where}.deterministic")


def _missing(where: str, field: str) -> Finding:
    lists = {"grounds": ", ".join(GROUNDS), "baselines": ", ".join(BASELINES)}
    advice = WORDS["fields"].get(field, "").format(**lists)
    return finding("unsaid", f"{where}.{field}", field=field, advice=advice)
