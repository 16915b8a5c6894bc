"""Rules about training: what was learnt, on which data it was judged, and what it took.

A step that is twice as fast is worth nothing if twice the steps are needed, or if they lead
elsewhere. So a claim about training needs, for every configuration, an accuracy at the end on data
held out. It must come from the same settings as the times; or the proof that both learn the same
numbers; or a target, fixed before, that all must reach. Every training that was run is listed, and
seeds are not picked. A lucky seed is the cheapest way to be better. It leaves a trace: seeds that
one contestant has and the other has not, with nothing said of what became of the rest. Where both
are trained from the same seeds, no such doubt remains. And more trials find more: two searches are
compared at one price.
"""

from collections.abc import Iterator

import numpy as np

from ddl_measure.interval import interval
from ddl_measure.reports.cases import (
    Case,
    find,
    higher_is_better,
    parts_of_a_step,
    place_of,
    qualities,
    same_numbers,
    timed,
)
from ddl_measure.reports.findings import Finding, finding
from ddl_measure.reports.numbers import POINT, ROUNDING, good_ratio
from ddl_measure.reports.report import (
    A_TRAINING,
    COMMUNICATION,
    HELD_OUT,
    STEP_PARTS,
    Entry,
    Report,
    Series,
    Target,
)


def accuracy(case: Case) -> Iterator[Finding]:
    """A claim about training must show how well each of its configurations has learnt."""
    base = case.baseline
    other_answers = case.claim.about == "inference" and any(
        base is not None and each.settings != base.settings for each in case.entries
    )
    if not (case.training or other_answers or case.claim.about == "search"):
        return
    learning = case.training and not case.to_target
    if (learning or other_answers) and case.claim.quantity not in ("accuracy", "loss"):
        yield from _learnt(case)
    for entry in case.everybody:
        judging = {series.quantity for series in entry.series or () if series.split}
        # The loss on what is learnt is what training watches: a fault where a claim is made of it.
        for quantity in sorted(judging - ({"loss"} - {case.claim.quantity}), key=str):
            splits = {series.split for series in find(entry, quantity) if series.split}
            if HELD_OUT not in splits:
                listed = " and ".join(sorted(splits))
                yield finding("not_held_out", place_of(entry), quantity=quantity, splits=listed)
    yield from _worse(case)


def the_way_there(case: Case) -> Iterator[Finding]:
    """The target must be set before the runs, and on held-out data. Training must not be judged at
    its best moment."""
    for entry in case.everybody if case.training else ():
        for series in (*find(entry, "accuracy"), *find(entry, "loss")):
            if series.taken == "best on the way":
                yield finding("best_on_the_way", place_of(entry), quantity=series.quantity)
    target = case.report.target
    if target is None or not case.to_target:
        return
    if target.fixed == "after":
        yield finding("fixed_after", "target", accuracy=target.accuracy)
    if target.split is not None and target.split != HELD_OUT:
        yield finding("target_not_held_out", "target", split=target.split)
    for entry in case.entries:
        yield from _reached(case, entry, target)


def what_time_includes(case: Case) -> Iterator[Finding]:
    """The time of a training must include its input and all of its parts."""
    for entry in case.everybody:
        series = case.series(entry)
        if series is None or not timed(series) or not series.includes:
            continue
        needed = parts_of_a_step(entry) if case.training else ()
        if case.claim.about == "inference":
            needed = "input", "forward"
        absent = [part for part in needed if part not in series.includes]
        if "input" in absent:
            absent.remove("input")
            yield finding("no_input", place_of(entry, series))
        if absent:
            words = {"parts": ", ".join(absent), "about": case.claim.about}
            yield finding("parts_absent", place_of(entry, series), **words)
    yield from _unlike_parts(case)


def _learnt(case: Case) -> Iterator[Finding]:
    others = [entry for entry in case.entries if entry is not case.baseline]
    without = [entry for entry in case.everybody if not qualities(entry)]
    if not without or (others and all(map(same_numbers, others))):
        return
    words = {"quantity": case.claim.quantity, "names": _names(without)}
    having = [entry for entry in case.report.entries or () if qualities(entry)]
    if case.claim.scaling and len(without) < len(case.everybody):
        yield finding("left_behind", case.where, **words)
    elif any(_twin(bare, other) for bare in without for other in having):
        yield finding("elsewhere", case.where, others=_names(having), **words)
    else:
        yield finding("without_accuracy", case.where, **words)


def _names(entries: list[Entry]) -> str:
    return ", ".join(str(entry.name) for entry in entries)


def _twin(first: Entry, other: Entry) -> bool:
    """Whether both are the same contestant with other switches, on the same machine and ranks."""
    alike = first.machine == other.machine and first.ranks == other.ranks
    switches = [(entry.settings, entry.batch, entry.shape) for entry in (first, other)]
    return alike and switches[0] != switches[1]


def _worse(case: Case) -> Iterator[Finding]:
    """A configuration that is faster but less good than the baseline must say so."""
    before = _held_out(case.baseline)
    if before is None or case.claim.quantity in ("accuracy", "loss", before.quantity):
        return
    for entry in case.entries:
        after = _held_out(entry)
        if after is None or entry is case.baseline or after.quantity != before.quantity:
            continue
        old, *between = interval(before.values, before.confidence)
        new, *around = interval(after.values, after.confidence)
        upwards = higher_is_better(before)
        apart = around[1] < between[0] if upwards else around[0] > between[1]
        least = POINT if before.quantity == "accuracy" else ROUNDING * abs(old)
        admitted = (case.claim.accuracy_change or 0.0) * (-1 if upwards else 1)
        if apart and abs(new - old) > max(least, admitted + least):
            ends = {"new": new, "old": old, "change": new - old}
            yield finding("worse", case.where, name=entry.name, **ends)


def _held_out(entry: Entry | None) -> Series | None:
    """How well it has learnt in the end: an accuracy, or else whatever was found on such data."""
    ends = [
        series
        for series in (qualities(entry) if entry else ())
        if series.split == HELD_OUT and series.taken != "on the way" and series.values
    ]
    return min(ends, key=lambda series: series.quantity != "accuracy", default=None)


def _reached(case: Case, entry: Entry, target: Target) -> Iterator[Finding]:
    times, last = case.series(entry), _held_out(entry)
    if times is None or not times.values:
        return
    never = sum(not np.isfinite(value) for value in times.values)
    end = float(np.median(last.values)) if last is not None else np.inf
    below = target.accuracy is not None and end < target.accuracy
    if 2 * never >= len(times.values) or below:
        words = {"count": len(times.values), "end": end, "accuracy": target.accuracy}
        rule = "ends_below" if below else "never_there"
        yield finding(rule, place_of(entry), never=never, **words)


def _unlike_parts(case: Case) -> Iterator[Finding]:
    """What the baseline's time, or energy, has in it, and the contestant's has not."""
    mine = case.series(case.entries[-1]) if case.entries else None
    its = case.series(case.baseline)
    if mine is None or its is None or not mine.includes or not its.includes:
        return
    absent = set(its.includes) - set(mine.includes)
    if case.training or case.claim.about == "inference":
        absent -= {*STEP_PARTS, COMMUNICATION}  # what a step needs has been asked for already
    if absent:
        words = {"parts": ", ".join(sorted(absent)), "name": case.entries[-1].name}
        yield finding("parts_of_the_baseline", case.where, quantity=mine.quantity, **words)


def all_trials(report: Report, entry: Entry) -> Iterator[Finding]:
    """Every training that was run must be listed, also those that chose the settings."""
    where = place_of(entry)
    if entry.searched and entry.chosen_on == HELD_OUT:
        yield finding("judged_held_out", where, trials=entry.searched)
    own = [trial for trial in report.trials or () if trial.entry == entry.name]
    same = [
        trial for trial in own if trial.settings == entry.settings and trial.outcome != "chosen"
    ]
    repeated = [
        series.values for series in entry.series or () if series.of == A_TRAINING and series.values
    ]
    runs = max(map(len, repeated), default=0)
    if len(same) > runs and repeated:
        yield finding("trainings_gone", where, runs=runs, count=len(same))
    if any(
        trial.outcome == "kept" and trial.settings not in (None, entry.settings) for trial in own
    ):
        yield finding("others_kept", where)
    if report.trials is None or entry.searched is None:
        return
    others = sum(trial.outcome != "kept" for trial in own) - sum(
        trial.outcome != "kept" for trial in same
    )
    if others != entry.searched or len(same) < runs:
        counts = {"runs": runs, "others": others, "same": len(same)}
        yield finding("trials_hidden", where, searched=entry.searched, **counts)


def seeds(report: Report) -> Iterator[Finding]:
    """The seeds of all trainings that are shown must be stated."""
    stated = report.made.seeds if report.made else None
    used = {trial.seed for trial in report.trials or () if trial.outcome == "kept"} - {None}
    if stated is not None and used - set(stated):
        yield finding("other_seeds", "made.seeds", seeds=_listed(used - set(stated)))


def same_seeds(case: Case) -> Iterator[Finding]:
    """Contestants and baseline must be trained from the same seeds."""
    its = _seeds(case.report, case.baseline) if case.baseline else set()
    for entry in case.entries if its else ():
        mine = _seeds(case.report, entry)
        if mine - its and its - mine:  # fewer seeds are no choice, other seeds may be one
            words = {"theirs": _listed(its - mine), "own": _listed(mine - its)}
            yield finding("unlike_seeds", case.where, name=entry.name, **words)


def budgets(case: Case) -> Iterator[Finding]:
    """The result of a search must state what it cost, and the other search must get as much."""
    if case.claim.about != "search":
        return
    for entry in case.everybody:
        counted = [
            series
            for series in find(entry, "trials")
            if series.of == case.claim.of and series.values
        ]
        listed = sum(trial.entry == entry.name for trial in case.report.trials or ())
        if counted and sum(counted[0].values) != listed:
            had = sum(counted[0].values)
            yield finding("searches_hidden", place_of(entry), had=had, listed=listed)
    if not any(series.split for series in case.cited):
        return
    for entry in case.everybody:
        if not _spent(case, entry):
            yield finding("spending_unsaid", place_of(entry), of=case.claim.of)
    others = _spent(case, case.baseline) if case.baseline else {}
    for entry in case.entries if others else ():
        for quantity, mine in _spent(case, entry).items():
            ratio = good_ratio(mine, others[quantity], "medians") if quantity in others else None
            if ratio is not None and ratio[2] < 1 and ratio[0] < 1 - ROUNDING:
                words = {"factor": 1 / ratio[0], "quantity": quantity}
                yield finding("spent_more", case.where, name=entry.name, **words)


def _spent(case: Case, entry: Entry) -> dict[str, Series]:
    """What one search cost: the less, the better, and not judged on data."""
    own = (
        series for series in entry.series or () if series.of == case.claim.of and not series.split
    )
    return {
        series.quantity: series for series in own if series.values and not higher_is_better(series)
    }


def _seeds(report: Report, entry: Entry) -> set[int]:
    """The seeds of all trainings of this entry, whatever came of them."""
    own = (trial for trial in report.trials or () if trial.entry == entry.name)
    return {
        trial.seed for trial in own if trial.seed is not None and trial.settings == entry.settings
    }


def _listed(seeds: set[int]) -> str:
    shown = ", ".join(map(str, sorted(seeds)[:4]))
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {shown}{', ...' if len(seeds) > 4 else ''}"
