"""Rules about training: what was learnt, on which data it was judged, and what it took.

A step that is twice as fast is worth nothing if twice the steps are needed, or if they lead
elsewhere. So a claim about training needs an accuracy on data held out, at the end, of every
configuration that it speaks of, found under the same settings as the times; or the proof that both
learn the same numbers; or a target, fixed before, that all must reach.
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
from ddl_measure.reports.findings import Finding
from ddl_measure.reports.numbers import POINT, ROUNDING
from ddl_measure.reports.report import COMMUNICATION, HELD_OUT, STEP_PARTS, Entry, Series, Target


def accuracy(case: Case) -> Iterator[Finding]:
    """Every configuration that a claim about training speaks of has learnt, and what."""
    base = case.baseline
    other_answers = case.claim.about == "inference" and any(
        base is not None and it.settings != base.settings for it in case.entries
    )
    if not (case.training or other_answers or case.claim.about == "search"):
        return
    learning = case.training and not case.to_target
    if (learning or other_answers) and case.claim.quantity not in ("accuracy", "loss"):
        yield from _learnt(case)
    for entry in case.everybody:
        yield from _judged(case, entry)
    yield from _worse(case)


def the_way_there(case: Case) -> Iterator[Finding]:
    """When training was stopped, and who decided that."""
    for entry in case.everybody if case.training else ():
        for series in (*find(entry, "accuracy"), *find(entry, "loss")):
            if series.taken == "best on the way":
                best = f"its {series.quantity} is the best on the way"
                yield Finding("stopped at the right time", place_of(entry), best)
    target = case.report.target
    if target is None or not case.to_target:
        return
    if target.fixed == "after":
        advice = "fix a target that is usual for these data, then run"
        after = f"{target.accuracy} was fixed after the runs"
        yield Finding("stopped at the right time", "target", after, advice)
    if target.split is not None and target.split != HELD_OUT:
        advice = "take the accuracy on held-out data as the target"
        yield Finding(
            "no test accuracy", "target", f"the target is on {target.split} data", advice
        )
    for entry in case.entries:
        yield from _reached(case, entry, target)


def what_time_includes(case: Case) -> Iterator[Finding]:
    """A training reads its data, and all of its parts take time."""
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
            unread = "reading and preparing samples is not in it"
            yield Finding("no input time", place_of(entry, series), unread)
        if absent:
            lacking = f"{', '.join(absent)} not in it: no {case.claim.about}"
            yield Finding("kernel only", place_of(entry, series), lacking)
    yield from _unlike_parts(case)


def _learnt(case: Case) -> Iterator[Finding]:
    others = [it for it in case.entries if it is not case.baseline]
    without = [it for it in case.everybody if not qualities(it)]
    if not without or (others and all(map(same_numbers, others))):
        return
    silent = f"{case.claim.quantity} of {_names(without)}, and no accuracy"
    having = [it for it in case.report.entries or () if qualities(it)]
    if case.claim.scaling and len(without) < len(case.everybody):
        yield Finding("accuracy left behind", case.where, silent)
    elif any(_twin(one, other) for one in without for other in having):
        elsewhere = f"{silent}: that is of {_names(having)}"
        yield Finding("other settings for accuracy", case.where, elsewhere)
    else:
        yield Finding("throughput without accuracy", case.where, silent)


def _names(entries: list[Entry]) -> str:
    return ", ".join(str(it.name) for it in entries)


def _twin(one: Entry, other: Entry) -> bool:
    """Whether these are one contestant's, told apart by switches."""
    alike = one.machine == other.machine and one.ranks == other.ranks
    switches = [(it.settings, it.batch, it.shape) for it in (one, other)]
    return alike and switches[0] != switches[1]


def _judged(case: Case, entry: Entry) -> Iterator[Finding]:
    judging = {it.quantity for it in entry.series or () if it.split}
    # The loss on what is learnt is what training watches: a fault where a claim is made of it.
    for quantity in sorted(judging - ({"loss"} - {case.claim.quantity}), key=str):
        splits = {it.split for it in find(entry, quantity) if it.split}
        if HELD_OUT not in splits:
            on = f"its {quantity} is on {' and '.join(sorted(splits))} data"
            yield Finding("no test accuracy", place_of(entry), on)


def _worse(case: Case) -> Iterator[Finding]:
    """Faster than the baseline, but not as good, and silent about it."""
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
            ends = f"'{entry.name}' ends at {new:.3f}, the baseline at {old:.3f}"
            advice = f"say accuracy_change={new - old:.3f}, or compare times to one target"
            yield Finding("faster but worse", case.where, ends, advice)


def _held_out(entry: Entry | None) -> Series | None:
    """How well it has learnt in the end: an accuracy, or else whatever was found on such data."""
    ends = [
        it
        for it in (qualities(entry) if entry else ())
        if it.split == HELD_OUT and it.taken != "on the way" and it.values
    ]
    return min(ends, key=lambda it: it.quantity != "accuracy", default=None)


def _reached(case: Case, entry: Entry, target: Target) -> Iterator[Finding]:
    times, last = case.series(entry), _held_out(entry)
    if times is None or not times.values:
        return
    never = sum(not np.isfinite(it) for it in times.values)
    end = float(np.median(last.values)) if last is not None else np.inf
    below = target.accuracy is not None and end < target.accuracy
    if 2 * never >= len(times.values) or below:
        count = f"{never} of {len(times.values)} trainings never came to the target"
        ends = f"; they end at {end:.3f}, not {target.accuracy}" if below else ""
        yield Finding("target not reached", place_of(entry), count + ends)


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
        yield Finding(
            "kernel only",
            case.where,
            f"the baseline's {mine.quantity} have {', '.join(sorted(absent))} in them, "
            f"those of '{case.entries[-1].name}' have not",
            "measure both from the same beginning to the same end, and the same parts",
        )
