"""Rules about trials: every training that was run is listed, and seeds are not picked.

A lucky seed is the cheapest way to be better. It leaves a trace: seeds that one contestant has and
the other has not, with nothing said of what became of the rest. Where both are trained from the
same seeds nobody needs to be believed. And more trials find more: two searches are compared at one
price.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddl_measure.reports.cases import Case, cases, find, higher_is_better, trained
from ddl_measure.reports.findings import Finding
from ddl_measure.reports.numbers import ROUNDING, good_ratio
from ddl_measure.reports.report import A_TRAINING, HELD_OUT, Entry, Report, Series


def all_trials(report: Report) -> Iterator[Finding]:
    """Every training that was run is listed, also those that chose the settings."""
    for entry in trained(report):
        name, where = entry.name, f"entries['{entry.name}']"
        if entry.searched and entry.chosen_on == HELD_OUT:
            yield Finding(
                "chosen on the test data",
                where,
                f"{entry.searched} trials were judged on it",
                "choose by validation data, and look at held-out data once",
            )
        own = [it for it in report.trials or () if it.entry == name]
        same = [it for it in own if it.settings == entry.settings and it.outcome != "chosen"]
        repeated = [it.values for it in entry.series or () if it.of == A_TRAINING and it.values]
        runs = max(map(len, repeated), default=0)
        if len(same) > runs and repeated:
            yield Finding(
                "best of n",
                where,
                f"{runs} of {len(same)} trainings with its settings are shown",
                "show all of them, the crashed ones as what they reached",
            )
        if any(it.outcome == "kept" and it.settings not in (None, entry.settings) for it in own):
            yield Finding(
                "other settings for accuracy",
                where,
                "trials with other settings were kept",
                "make another entry for other settings",
            )
        if report.trials is None or entry.searched is None:
            continue
        others = len([it for it in own if it.outcome != "kept"]) - len(
            [it for it in same if it.outcome != "kept"]
        )
        if others != entry.searched or len(same) < runs:
            yield Finding(
                "tuning hidden",
                where,
                f"{entry.searched} trials chose its settings and {runs} trainings were measured; "
                f"listed are {others} and {len(same)}",
                "list every training in 'trials', with settings, seed and outcome",
            )


def seeds(report: Report) -> Iterator[Finding]:
    """Those of all that is shown are told, and contestants were given the same."""
    told = report.made.seeds if report.made else None
    used = {it.seed for it in report.trials or () if it.outcome == "kept"} - {None}
    if told is not None and used - set(told):
        yield Finding(
            "not repeatable",
            "made.seeds",
            f"trainings that are shown have other seeds: {_listed(used - set(told))}",
            "write the seeds of all that is shown there",
        )
    for case in cases(report):
        if case.baseline is None:
            continue
        its = _seeds(report, case.baseline)
        for entry in case.entries:
            mine = _seeds(report, entry)
            if mine - its and its - mine:  # fewer seeds are no choice, other seeds may be one
                yield Finding(
                    "best of n",
                    case.where,
                    f"'{entry.name}' was not trained from {_listed(its - mine)}, the baseline not "
                    f"from {_listed(mine - its)}",
                    "train both from the same seeds, or list what became of the others",
                )


def budgets(report: Report) -> Iterator[Finding]:
    """What a search found is told with what it spent, and the other was given as much."""
    for case in cases(report):
        cited = [case.series(entry) for entry in case.everybody]
        if case.claim.about == "search":
            yield from _all_listed(case)
        if case.claim.about != "search" or not any(it is not None and it.split for it in cited):
            continue
        for entry in case.everybody:
            if not _spent(case, entry):
                yield Finding(
                    "missing",
                    f"entries['{entry.name}']",
                    f"what {case.claim.of} spent is not said",
                    "add a series of it: trainings, steps or seconds",
                )
        others = _spent(case, case.baseline) if case.baseline else {}
        for entry in case.entries if others else ():
            for quantity, mine in _spent(case, entry).items():
                its = others.get(quantity)
                ratio = good_ratio(mine, its, "medians") if its else None
                if ratio is not None and ratio[2] < 1 and ratio[0] < 1 - ROUNDING:
                    yield Finding(
                        "poor baseline",
                        case.where,
                        f"'{entry.name}' spent {1 / ratio[0]:.3g} times the baseline's {quantity}",
                        "give both the same to spend",
                    )


def _all_listed(case: Case) -> Iterator[Finding]:
    """Where trials were counted, as many of them are listed."""
    for entry in case.everybody:
        counted = [it for it in find(entry, "trials") if it.of == case.claim.of and it.values]
        listed = sum(it.entry == entry.name for it in case.report.trials or ())
        if counted and sum(counted[0].values) != listed:
            yield Finding(
                "tuning hidden",
                f"entries['{entry.name}']",
                f"its searches had {sum(counted[0].values):g} trials, listed are {listed}",
                "list every training in 'trials', with settings, seed and outcome",
            )


def _spent(case: Case, entry: Entry) -> dict[str, Series]:
    """What one search cost: the less, the better, and not judged on data."""
    own = (it for it in entry.series or () if it.of == case.claim.of and not it.split)
    return {it.quantity: it for it in own if it.values and not higher_is_better(it)}


def _seeds(report: Report, entry: Entry) -> set[int]:
    """Those that it was trained from, whatever came of it."""
    own = (it for it in report.trials or () if it.entry == entry.name)
    return {it.seed for it in own if it.seed is not None and it.settings == entry.settings}


def _listed(seeds: set[int]) -> str:
    shown = ", ".join(map(str, sorted(seeds)[:4]))
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {shown}{', ...' if len(seeds) > 4 else ''}"
