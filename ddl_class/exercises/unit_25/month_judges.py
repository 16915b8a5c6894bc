"""The judges of unit 25 on a month of failures: hours between them, how often to save, what is
kept, spare machines; and which rank's bits are wrong."""

import math

import numpy as np

from ddl_class.exercises.exercise import Attempt, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, items, number, several, whole
from ddl_class.exercises.kit.compare import compare
from ddl_class.exercises.kit.texts import texts

HOURS, INTERVAL, KEPT, SPARE, DIFFER, BLAME, LIMIT = texts(
    __package__, "hours", "interval", "kept", "spare", "differ", "blame", "limit"
)


def judge_hours(attempt: Attempt) -> None:
    """Hours between failures on another number of GPUs."""
    for given in ((419, 54, 16_384, 100_000), (12, 7, 1000, 250)):
        failures, days, gpus, on = given
        right = 24 * days / failures * gpus / on
        usual = HOURS.each(
            not_scaled=24 * days / failures, grows=24 * days / failures * on / gpus,
            days=right / 24, rate=1 / right,
        )  # fmt: skip
        result = number(attempt.call(*given), HOURS("wanted"))
        compare(HOURS("call", given=given), result, right, usual, HOURS("otherwise"))


def judge_interval(attempt: Attempt) -> None:
    """Young's interval."""
    for save, mean in ((40.0, 11_000.0), (5.0, 1800.0)):
        right = math.sqrt(2 * save * mean)
        usual = INTERVAL.each(no_two=right / math.sqrt(2), no_root=right**2, half=mean / 2)
        result = number(attempt.call(save, mean), INTERVAL("wanted"))
        call = INTERVAL("call", save=save, mean=mean)
        compare(call, result, right, usual, INTERVAL("otherwise"))


def judge_kept(attempt: Attempt) -> None:
    """What a start leaves that a failure ends."""
    for restart, every, stall, behind in ((60, 100, 0, 0), (100, 300, 4, 0), (30, 120, 5, 70)):
        until = attempt.generator.uniform(0, 3000, 12)
        until[0] = restart / 2
        cycle, copied = every + stall, np.maximum(until - restart - behind, 0)
        usual = KEPT.each(
            no_stall=copied // every * every, with_stall=copied // cycle * cycle,
            part=copied / cycle * every,
        )  # fmt: skip
        result = attempt.call(until.copy(), restart, every, stall, behind)
        call = KEPT("call", restart=restart, every=every, stall=stall, behind=behind)
        right = copied // cycle * every
        compare(call, array(result, KEPT("wanted"), (12,)), right, usual, KEPT("otherwise"))


def judge_spare(attempt: Attempt) -> None:
    """The wait for a machine, and when the others are there."""
    for now, back, repaired in (
        (10.0, [0.0, 30.0], 40.0),
        (10.0, [25.0, 17.0], 90.0),
        (5.0, [], 8.0),
    ):
        times = sorted([*back, repaired])
        wait = max(times[0] - now, 0)
        outcome = several(attempt.call(now, list(back), repaired), 2, SPARE("wanted"))
        mine = [
            number(outcome[0], SPARE("wanted")),
            *sorted(items(outcome[1], SPARE("wanted"), float)),
        ]
        usual = SPARE.each(
            negative=[times[0] - now, *times[1:]], not_taken=[wait, *times],
            not_repaired=[max(min(back, default=repaired) - now, 0), *sorted(back)[1:]],
        )  # fmt: skip
        call = SPARE("call", now=now, back=back, repaired=repaired)
        compare(call, mine, [wait, *times[1:]], usual, SPARE("otherwise"))


def judge_differ(attempt: Attempt) -> None:
    """The ranks whose copy is not that of most, in few bytes."""
    for count in attempt.counts:
        for wrong in (0, count - 1, None) if count > 2 else (None,):
            x = np.repeat([attempt.generator.standard_normal(50)], count, axis=0)
            if wrong is not None:
                x[wrong].view(np.uint64)[3] ^= np.uint64(1)
            call = DIFFER("call", ranks=ranks_text(count), wrong=wrong)
            given = [(row,) for row in x]
            outcome = ranks.run(attempt, count, given, call, ranks.general(DIFFER("advice")))
            right = [] if wrong is None else [wrong]
            for result in outcome.results:
                mine = items(result, DIFFER("wanted"), whole)
                others = [rank for rank in range(count) if rank != wrong]
                compare(
                    call, mine, right, DIFFER.each(first=others, blind=[]), DIFFER("otherwise")
                )
            ranks.judge_sent(call, outcome, [8 * count] * count, DIFFER("much"), of="bytes")


def judge_blame(attempt: Attempt) -> None:
    """The ranks that are wrong on both sides."""
    for differs in ([0, 1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1]):
        ring = np.array(differs, bool)
        right, usual = np.flatnonzero(ring & np.roll(ring, 1)).tolist(), {
            "own": np.flatnonzero(ring), "either": np.flatnonzero(ring | np.roll(ring, 1)),
            "next": np.flatnonzero(ring & np.roll(ring, -1)),
        }  # fmt: skip
        mine = items(attempt.call(ring.tolist()), BLAME("wanted"), whole)
        named = BLAME.each(**{name: ranks_of.tolist() for name, ranks_of in usual.items()})
        compare(BLAME("call", differs=differs), mine, right, named, BLAME("otherwise"))


def judge_limit(attempt: Attempt) -> None:
    """The lowest limit with so many false alarms."""
    for count, alarms in ((20, 0), (50, 2), (9, 4)):
        clean = attempt.generator.exponential(1.0, count)
        falling = np.sort(clean)[::-1]
        usual = LIMIT.each(
            one_less=falling[alarms + 1], one_more=falling[max(alarms - 1, 0)],
            low=falling[-1 - alarms], place=alarms,
        )  # fmt: skip
        result = number(attempt.call(clean.copy(), alarms), LIMIT("wanted"))
        call = LIMIT("call", count=count, alarms=alarms)
        compare(call, result, falling[alarms], usual, LIMIT("otherwise"))
