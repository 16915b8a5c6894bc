"""The judges of unit 25 on a month of failures: hours between them, how often to save, what is
kept, spare machines; and which rank's bits are wrong."""

import math
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ask, held, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import items, number, several

HOURS, INTERVAL, KEPT, SPARE, DIFFER, BLAME, LIMIT = texts(
    __package__, "hours", "interval", "kept", "spare", "differ", "blame", "limit"
)


def judge_hours(attempt: Attempt) -> None:
    """Hours between failures on another number of GPUs."""
    for failures, days, gpus, on in ((419, 54, 16_384, 100_000), (12, 7, 1000, 250)):
        apart = 24 * days / failures
        right = apart * gpus / on
        ask(attempt, HOURS, (failures, days, gpus, on), right).compare(
            not_scaled=apart, grows=apart * on / gpus, days=right / 24, rate=1 / right
        )


def judge_interval(attempt: Attempt) -> None:
    """Young's interval."""
    for save, mean in ((40.0, 11_000.0), (5.0, 1800.0)):
        right = math.sqrt(2 * save * mean)
        ask(attempt, INTERVAL, (save, mean), right).compare(
            no_two=right / math.sqrt(2), no_root=right**2, half=mean / 2
        )


def judge_kept(attempt: Attempt) -> None:
    """What a start leaves that a failure ends."""
    for restart, every, stall, behind in ((60, 100, 0, 0), (100, 300, 4, 0), (30, 120, 5, 70)):
        until = attempt.generator.uniform(0, 3000, 12)
        until[0] = restart / 2
        cycle, copied = every + stall, np.maximum(until - restart - behind, 0)
        right = copied // cycle * every
        ask(attempt, KEPT, (until, restart, every, stall, behind), right).compare(
            no_stall=copied // every * every, with_stall=copied // cycle * cycle,
            part=copied / cycle * every,
        )  # fmt: skip


def judge_spare(attempt: Attempt) -> None:
    """The wait for a machine, and when the others are there."""

    def read(value: Any, wanted: str) -> list[float]:
        wait, others = several(value, 2, wanted)
        return [number(wait, wanted), *sorted(items(others, wanted, float))]

    for now, back, repaired in (
        (10.0, [0.0, 30.0], 40.0),
        (10.0, [25.0, 17.0], 90.0),
        (5.0, [], 8.0),
    ):
        times = sorted([*back, repaired])
        wait, first = max(times[0] - now, 0), min(back, default=repaired)
        ask(attempt, SPARE, (now, back, repaired), [wait, *times[1:]], read=read).compare(
            negative=[times[0] - now, *times[1:]],
            not_taken=[wait, *times],
            not_repaired=[max(first - now, 0), *sorted(back)[1:]],
        )


def judge_differ(attempt: Attempt) -> None:
    """The ranks whose copy is not that of most, in few bytes."""
    for count in attempt.counts:
        for wrong in (0, count - 1, None) if count > 2 else (None,):
            x = np.repeat([attempt.generator.standard_normal(50)], count, axis=0)
            if wrong is not None:
                x[wrong].view(np.uint64)[3] ^= np.uint64(1)
            call, outcome = run_ranks(attempt, DIFFER, [(row,) for row in x], wrong=wrong)
            right = [] if wrong is None else [wrong]
            others = [rank for rank in range(count) if rank != wrong]
            for rank, result in enumerate(outcome.results):
                held(DIFFER, call, rank, result, right).compare(first=others, blind=[])
            ranks.judge_sent(call, outcome, [8 * count] * count, DIFFER("much"), of="bytes")


def judge_blame(attempt: Attempt) -> None:
    """The ranks that are wrong on both sides."""
    for differs in ([0, 1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1]):
        ring = np.array(differs, bool)
        before, after = np.roll(ring, 1), np.roll(ring, -1)
        right, *wrong = (
            np.flatnonzero(each).tolist()
            for each in (ring & before, ring, ring | before, ring & after)
        )
        mistakes = dict(zip(("own", "either", "next"), wrong, strict=True))
        ask(attempt, BLAME, (ring.tolist(),), right, differs=differs).compare(**mistakes)


def judge_limit(attempt: Attempt) -> None:
    """The lowest limit with so many false alarms."""
    for count, alarms in ((20, 0), (50, 2), (9, 4)):
        clean = attempt.generator.exponential(1.0, count)
        falling = np.sort(clean)[::-1]
        ask(attempt, LIMIT, (clean, alarms), falling[alarms]).compare(
            one_less=falling[alarms + 1],
            one_more=falling[max(alarms - 1, 0)],
            low=falling[-1 - alarms],
            place=alarms,
        )
