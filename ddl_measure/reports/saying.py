"""Rules about what must be said, and said so that others understand it.

Which fields are necessary depends on what is claimed: an all-reduce has no accuracy, a training
has one. `None` is found, an empty tuple is an answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ddl_measure.reports.cases import Case, cases, place_of, timed, trained
from ddl_measure.reports.findings import Finding
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

NEEDED: Mapping[str, str] = {
    "report": "title made machines entries claims left_out",
    "made": "date command code lock seeds",
    "entry": "name machine ranks cores settings series",
    "series": "quantity of unit values repeated ground deterministic",
    "trial": "entry seed settings outcome",
    "claim": "says about quantity of number summary entries",
    "data": "name training held_out shape",
    "target": "accuracy split fixed",
}
WORDS: Mapping[str, Sequence[str]] = {
    "ground": GROUNDS, "split": SPLITS, "chosen_on": SPLITS, "about": SUBJECTS,
    "baseline_is": BASELINES, "outcome": OUTCOMES, "scaling": ("strong", "weak"),
    "fixed": ("before", "after"), "better": ("lower", "higher"),
    "taken": ("at the end", "on the way", "best on the way"),
    "over_ranks": ("slowest", "mean", "rank 0", "fastest"),
}  # fmt: skip
MACHINE = "processor cores memory system".split()
MAY_BE_EMPTY = ("seeds", "left_out", "claims")
COUNTS = "ranks cores batch repeated".split()


def what_is_missing(report: Report) -> Iterator[Finding]:
    """Fields that are needed, whatever else the report says."""
    yield from _said("report", report, "report")
    if report.made is not None:
        yield from _said("made", report.made, "made")
        if (report.made.code or "").endswith("+changes"):
            changes = f"{report.made.code}: nobody else has these changes"
            yield Finding("not repeatable", "made.code", changes)
    for name, machine in (report.machines or {}).items():
        yield from (_missing(f"machines['{name}']", it) for it in MACHINE if not machine.get(it))
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
    """Words that are not the format's, units of another quantity, names that nobody has."""
    entries = report.entries or ()
    names = [entry.name for entry in entries]
    for place, entry in enumerate(entries):
        where = f"entries[{place}]"
        yield from _words(entry, where)
        if entry.machine is not None and entry.machine not in (report.machines or {}):
            unknown = f"no machine is called '{entry.machine}'"
            yield Finding("unclear", f"{where}.machine", unknown)
        if names.count(entry.name) > 1:
            yield Finding("unclear", f"{where}.name", f"two entries are called '{entry.name}'")
        for number, series in enumerate(entry.series or ()):
            yield from _words(series, f"{where}.series[{number}]")
            yield from _unclear_series(series, f"{where}.series[{number}]")
    for place, trial in enumerate(report.trials or ()):
        yield from _words(trial, f"trials[{place}]")
        if trial.entry is not None and trial.entry not in names:
            yield Finding(
                "unclear", f"trials[{place}].entry", f"no entry is called '{trial.entry}'"
            )
    if report.target is not None:
        yield from _words(report.target, "target")
    for case in cases(report):
        claim = case.claim
        yield from _words(claim, case.where)
        for name in (*(claim.entries or ()), *((claim.baseline,) if claim.baseline else ())):
            if name not in names:
                yield Finding("unclear", f"{case.where}.entries", f"no entry is called '{name}'")
        yield from _what_the_baseline_is(case)
        summary = (claim.summary or SUMMARIES[0]).removeprefix("percentile ")
        if summary not in SUMMARIES and not summary.isdigit():
            unknown = f"'{summary}' is not one of {SUMMARIES}"
            yield Finding("unclear", f"{case.where}.summary", unknown)


def _said(kind: str, thing: Any, where: str) -> Iterator[Finding]:
    for field in NEEDED[kind].split():
        value = getattr(thing, field)
        if value is None or (value in ((), "") and field not in MAY_BE_EMPTY):
            yield _missing(where, field)


def _lacking(entry: Entry, fields: Iterable[str]) -> Iterator[Finding]:
    return (_missing(place_of(entry), it) for it in fields if getattr(entry, it) is None)


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
            unseen = (
                f"{case.where} speaks of {claim.quantity} of {claim.of}, which was not measured"
            )
            advice = (
                "add the series, with all its repetitions, or leave the entry out of the claim"
            )
            yield Finding("missing", place_of(entry), unseen, advice)
        if claim.about == "inference":
            yield from _lacking(entry, ("batch", "shape"))
    several = len({entry.ranks for entry in case.everybody}) > 1
    wanted = {
        "data": learnt or claim.about == "search", "trials": case.training,
        "target": case.to_target,
    }  # fmt: skip
    for field in (it for it in wanted if wanted[it]):
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
        called = f"'{base.name}' is called '{case.claim.baseline_is}', and {contrary}"
        yield Finding("unclear", f"{case.where}.baseline_is", called)


def _words(thing: Any, where: str) -> Iterator[Finding]:
    for field, allowed in WORDS.items():
        word = getattr(thing, field, None)
        if word is not None and word not in allowed:
            unknown = f"'{word}' is not one of {', '.join(allowed)}"
            yield Finding("unclear", f"{where}.{field}", unknown)
    for field in COUNTS:
        count = getattr(thing, field, None)
        if count is not None and count < 1:
            yield Finding("unclear", f"{where}.{field}", f"{count} is less than 1")


def _unclear_series(series: Series, where: str) -> Iterator[Finding]:
    values, unit = series.values or (), QUANTITIES.get(series.quantity or "", (series.unit,))[0]
    contradictions = {
        "unit": series.unit not in (None, unit)
        and f"{series.quantity} is kept in {unit}, not {series.unit}",
        "repeated": series.repeated is not None and series.repeated < len(values)
        and f"{len(values)} values of {series.repeated} repetitions",
        "values": series.quantity == "accuracy" and not all(0 <= it <= 1 for it in values)
        and "an accuracy is a share, from 0 to 1",
        "deterministic": series.deterministic and len(set(values)) > 1
        and "the values differ, so chance is in them",
    }  # fmt: skip
    for field, contradiction in contradictions.items():
        if contradiction:
            yield Finding("unclear", f"{where}.{field}", contradiction)


def _missing(where: str, field: str) -> Finding:
    return Finding("missing", f"{where}.{field}", f"'{field}' is not said", ADVICE.get(field, ""))


ADVICE: Mapping[str, str] = {
    "title": "say in one line what was asked",
    "made": "made('the command') collects it",
    "date": "write the day it was measured",
    "command": "write the one line that measures all of it again",
    "code": "write the version of the code, or the commit",
    "lock": "write the hash of the exact versions installed; made('the command') does",
    "seeds": "write all of them, or () if no chance is in it",
    "machines": "describe each; measure.machine.describe() does",
    "left_out": "say what was measured and is not shown, and why; () if nothing",
    "values": "give every repetition, not their median",
    "repeated": "say how often it was measured, so that none can be missing unseen",
    "ground": f"say which it is: {', '.join(GROUNDS)}",
    "deterministic": "say whether the next run must give the same; a clock's times are not so",
    "includes": "list the parts that the clock saw: input, forward, backward, communication, ...; "
    "or the meter: processor, memory, GPU 0, ...",
    "over_ranks": "say whose time it is: that of the slowest rank, if ranks began together",
    "split": "say which data it is the accuracy on; readers want held-out data",
    "taken": "say whether that is at the end of training or the best on the way",
    "counted": "say which operations were counted, and in which precision",
    "better": "say 'lower' or 'higher'",
    "baseline": "name the entry that it is compared with; absolute numbers stand there",
    "baseline_is": f"say what the baseline is: {', '.join(BASELINES)}",
    "scaling": "say 'strong' if the whole batch stays as it is, 'weak' if it grows with the ranks",
    "batch": "write the samples of a step, on all ranks together",
    "shape": "write the shape of one sample as it goes into the network",
    "searched": "count the trainings that were run to choose these settings; 0 if none",
    "chosen_on": "say on which data the settings were chosen; not on held-out data",
    "trials": "list every training that was run, the crashed ones too",
    "target": "write the accuracy to reach, on which data, and that it was fixed before",
    "data": "name the data, how many samples, how many held out, the shape of one",
    "number": "write the number that the sentence stands on; 1 if no difference can be seen",
    "summary": "say what the number is made of: medians, in most cases",
}
