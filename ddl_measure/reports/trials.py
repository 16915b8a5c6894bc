"""Rules about trials: every training that was run is listed, and seeds are not picked.

A lucky seed is the cheapest way to be better. It leaves a trace: seeds that one contestant has and
the other has not, with nothing said of what became of the rest. Where both are trained from the
same seeds nobody needs to be believed. And more trials find more: two searches are compared at one
price.
"""

from collections.abc import Iterator

from ddl_measure.reports.cases import Case, find, higher_is_better, place_of
from ddl_measure.reports.findings import Finding
from ddl_measure.reports.numbers import ROUNDING, good_ratio
from ddl_measure.reports.report import A_TRAINING, HELD_OUT, Entry, Report, Series


def all_trials(report: Report, entry: Entry) -> Iterator[Finding]:
    """Every training that was run is listed, also those that chose the settings."""
    where = place_of(entry)
    if entry.searched and entry.chosen_on == HELD_OUT:
        judged = f"{entry.searched} trials were judged on it"
        yield Finding("chosen on the test data", where, judged)
    own = [it for it in report.trials or () if it.entry == entry.name]
    same = [it for it in own if it.settings == entry.settings and it.outcome != "chosen"]
    repeated = [it.values for it in entry.series or () if it.of == A_TRAINING and it.values]
    runs = max(map(len, repeated), default=0)
    if len(same) > runs and repeated:
        shown = f"{runs} of {len(same)} trainings with its settings are shown"
        advice = "show all of them, the crashed ones as what they reached"
        yield Finding("best of n", where, shown, advice)
    if any(it.outcome == "kept" and it.settings not in (None, entry.settings) for it in own):
        kept, advice = (
            "trials with other settings were kept",
            "make another entry for other settings",
        )
        yield Finding("other settings for accuracy", where, kept, advice)
    if report.trials is None or entry.searched is None:
        return
    others = sum(it.outcome != "kept" for it in own) - sum(it.outcome != "kept" for it in same)
    if others != entry.searched or len(same) < runs:
        chose = f"{entry.searched} trials chose its settings and {runs} trainings were measured"
        listed = f"listed are {others} and {len(same)}"
        yield Finding("tuning hidden", where, f"{chose}; {listed}")


def seeds(report: Report) -> Iterator[Finding]:
    """Those of all that is shown are told."""
    told = report.made.seeds if report.made else None
    used = {it.seed for it in report.trials or () if it.outcome == "kept"} - {None}
    if told is not None and used - set(told):
        others = f"trainings that are shown have other seeds: {_listed(used - set(told))}"
        advice = "write the seeds of all that is shown there"
        yield Finding("not repeatable", "made.seeds", others, advice)


def same_seeds(case: Case) -> Iterator[Finding]:
    """Contestants were given the same."""
    its = _seeds(case.report, case.baseline) if case.baseline else set()
    for entry in case.entries if its else ():
        mine = _seeds(case.report, entry)
        if mine - its and its - mine:  # fewer seeds are no choice, other seeds may be one
            yield Finding(
                "best of n",
                case.where,
                f"'{entry.name}' was not trained from {_listed(its - mine)}, the baseline not "
                f"from {_listed(mine - its)}",
                "train both from the same seeds, or list what became of the others",
            )


def budgets(case: Case) -> Iterator[Finding]:
    """What a search found is told with what it spent, and the other was given as much."""
    if case.claim.about != "search":
        return
    for entry in case.everybody:
        counted = [it for it in find(entry, "trials") if it.of == case.claim.of and it.values]
        listed = sum(it.entry == entry.name for it in case.report.trials or ())
        if counted and sum(counted[0].values) != listed:
            had = f"its searches had {sum(counted[0].values):g} trials, listed are {listed}"
            yield Finding("tuning hidden", place_of(entry), had)
    if not any(it.split for it in case.cited):
        return
    for entry in case.everybody:
        if not _spent(case, entry):
            advice = "add a series of it: trainings, steps or seconds"
            yield Finding(
                "missing", place_of(entry), f"what {case.claim.of} spent is not said", advice
            )
    others = _spent(case, case.baseline) if case.baseline else {}
    for entry in case.entries if others else ():
        for quantity, mine in _spent(case, entry).items():
            ratio = good_ratio(mine, others[quantity], "medians") if quantity in others else None
            if ratio is not None and ratio[2] < 1 and ratio[0] < 1 - ROUNDING:
                more = f"'{entry.name}' spent {1 / ratio[0]:.3g} times the baseline's {quantity}"
                yield Finding("poor baseline", case.where, more, "give both the same to spend")


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
