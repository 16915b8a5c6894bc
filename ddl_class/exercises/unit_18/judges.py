"""The judges of unit 18: luck, intervals, the slowest rank, two kinds of scaling; time to a
target, and a review of one's own."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit.answers import SHOWN, array, not_none, number, numbers, several
from ddl_class.exercises.kit.compare import any_of, compare, refuse_if
from ddl_measure.interval import interval

ENDS = ("the median", "the low end", "the high end")
COUNTS = (6, 7, 9, 12, 30, 101)  # of times whose interval is asked for
Point = tuple[int, int, float]


def judge_lucky(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The median of theirs over the least of the first `runs` of ours."""
    for count, runs in ((9, 1), (30, 5), (30, 30), (12, 7)):
        ours, theirs = (generator.gamma(9.0, 0.1, count) + 1 for _ in range(2))
        call = f"lucky(ours, theirs, runs={runs}) of {count} times each"
        said = number(stage.call(ours, theirs, runs), f"{call}: return the speed-up")
        best, middle = ours[:runs].min(), float(np.median(theirs))
        usual = {
            "A speed-up is their time over ours: above 1 if ours is faster": best / middle,
            "Only the first `runs` of ours have been made": middle / ours.min(),
            "That is honest: medians of both. Take our best": middle / np.median(ours[:runs]),
            "That compares the best of both: theirs must make do with a median": (
                theirs.min() / best
            ),
            "Theirs is to be the median, not the mean": theirs.mean() / best,
            "That is our worst": middle / ours[:runs].max(),
        }
        compare(call, said, middle / best, usual)


def judge_interval(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Median and ends, by counting places."""
    for count in (*COUNTS, int(generator.integers(13, 60))):
        times = generator.gamma(2.0, 1.0, count) + 1
        call = f"interval of {count} times"
        said = numbers(stage.call(times), ENDS, f"{call}: return three numbers, {', '.join(ENDS)}")
        compare(call, said, list(interval(times)), _wrong_intervals(times))


def _wrong_intervals(times: np.ndarray) -> dict[str, object]:
    ordered, count, mean = np.sort(times), len(times), float(times.mean())
    middle, low, high = interval(times)
    left_out = int(np.searchsorted(ordered, low))
    reach = 1.96 * times.std(ddof=1) / math.sqrt(count)
    spreads = reach, reach * times.std() / times.std(ddof=1)
    beside = [left for left in (left_out - 1, left_out + 1) if 0 <= left < count / 2]
    return {
        "The first number is the median, not the mean": [mean, low, high],
        "The ends are swapped: low comes first": [middle, high, low],
        "The places are right, but not in these times: sort them first": (
            [middle, times[left_out], times[count - 1 - left_out]]
        ),
        "That is all that was measured, from least to most. With more times the ends move in: "
        "leave out as many at each end as the sum allows": [middle, ordered[0], ordered[-1]],
        "Between these lie 95 of 100 times. Asked is where their true median lies, and that is "
        "known the better the more times there are": (
            [middle, *np.percentile(times, (2.5, 97.5)).tolist()]
        ),
        "That holds for a bell curve only, and times have a long tail on one side. Count places "
        "instead": any_of(
            *([at, at - spread, at + spread] for spread in spreads for at in (middle, mean))
        ),
        "One place off. With `left` times left out at an end, that end misses the median when at "
        "most `left` times lie below it; the chance of that may be 0.025": any_of(
            *([middle, ordered[left], ordered[count - 1 - left]] for left in beside)
        ),
        "The 0.05 are for both ends together: each may miss in 0.025": list(interval(times, 0.9)),
    }


def judge_slowest(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """For each repetition the time of the slowest rank, on every rank."""
    for count in sorted(ranks):
        own = generator.gamma(2.0, 1.0, (count, 7))
        right = own.max(axis=0)
        outcome = stage.run(count, [(seconds,) for seconds in own])
        call = f"slowest on {ranks_text(count)}"
        for rank, value in enumerate(outcome.results):
            if value is None:
                raise Wrong(
                    f"{call}: rank {rank} returns None. Is a `return` missing? (ring.allreduce "
                    "works in place and returns nothing itself.)"
                )
            wanted = f"{call}: return one plain row, a time for each repetition"
            said = np.atleast_1d(array(value, f"{wanted}: rank {rank}"))
            cases = {
                f"{wanted}; rank {rank} returns an array of shape {said.shape}": said.ndim > 1,
                f"{call}: rank {rank} returns {said.size} numbers for {right.size} repetitions. "
                "The slowest rank is another one each time: one time for each": (
                    said.shape != right.shape
                ),
            }
            refuse_if("", cases)
            usual = {
                "These are the rank's own times: who waits for it does not know them": own[rank],
                "These are rank 0's times, and rank 0 knows nothing of the others": own[0],
                "That is the mean: a step is over when the last rank is done": own.mean(axis=0),
                "That is the sum: add up nothing, take the largest": own.sum(axis=0),
                "That is the fastest rank": own.min(axis=0),
                "That is the rank that is slowest in all. Ask again in each repetition": (
                    own[own.sum(axis=1).argmax()]
                ),
            }
            compare(f"{call}: rank {rank}", said, right, usual)
        if not np.array_equal([left[0] for left in outcome.arguments], own):
            raise Wrong(
                f"{call}: `seconds` has changed. A rank's own times are data: copy them first."
            )


def judge_scaling(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Which scaling it is, and how much of the ranks is used."""
    for points in _scalings(generator):
        call = f"scaling({points})"
        wanted = f"{call}: return two things, the kind and the efficiency"
        kind, efficiency = several(stage.call(points), 2, wanted)
        (first, batch, before), (last, _, after) = points[0], points[-1]
        ratio, more = before / after, last / first
        if all(point[1] == batch for point in points):
            right, share = "strong", ratio / more
        elif all(point[1] * first == batch * point[0] for point in points):
            right, share = "weak", ratio
        else:
            right, share = "neither", None
        if str(kind) != right:
            raise Wrong(f"{call}: you call it {kind!r}, and it is {right!r}. {WHY[right]}")
        if share is None and efficiency is not None:
            raise Wrong(f"{call}: what is neither has no efficiency: return None for it.")
        usual = {
            "That is a speed-up in samples a second: divide by how many more ranks": ratio * more,
            "That is the speed-up: divide it by how many times as many ranks there are": ratio,
            "In weak scaling there is more work: with perfect scaling the time stays": (
                ratio / more
            ),
            "Divide by last ranks / first ranks: the first point may have several": ratio / last,
            "Upside down: the first time over the last": any_of(1 / ratio, more / ratio),
        }
        if share is not None:
            compare(call, number(efficiency, wanted, part="the efficiency"), share, usual)


def _scalings(generator: np.random.Generator) -> Iterator[list[Point]]:
    cases = [((1, 2, 4), batches) for batches in ((32, 32, 128), (32, 40, 128), (32, 48, 32))]
    for first in (1, 2, 3):
        counts = first, 2 * first, 8 * first
        cases += [(counts, (48, 48, 48)), (counts, (16 * first, 32 * first, 128 * first))]
    for counts, batches in cases:
        seconds = np.round(generator.uniform(1, 9, 3), 3).tolist()
        yield list(zip(counts, batches, seconds, strict=True))


WHY = {
    "strong": "The whole batch is the same at every number of ranks.",
    "weak": "Each rank has as many samples at every number of ranks.",
    "neither": "Look at all points, not only at the first and the last.",
}

NEVER = float("inf")
Curve = tuple[np.ndarray, np.ndarray]  # seconds and accuracies
SETS = (set, frozenset, list, tuple)
PARTS = ["input", "forward", "backward", "communication", "update"]
HONEST: dict[str, Any] = {
    "values": [1.0, 1.1, 0.9, 1.0, 1.2, 1.0], "repeated": 6, "includes": PARTS,
    "accuracy": {"training": 0.99, "held out": 0.95}, "scaling": "strong",
    "batches": {1: 64, 8: 64},
}  # fmt: skip
AWKWARD: dict[str, dict[str, Any]] = {  # honest, each in its own way
    "exactly six repetitions": {},
    "weak scaling, called weak": {"scaling": "weak", "batches": {1: 64, 8: 512}},
    "no scaling at all": {"scaling": None, "batches": {4: 64}},
    "two batches, and no scaling claimed": {"scaling": None, "batches": {1: 64, 8: 512}},
    "an outlier that was kept": {"values": [1.0, 1.1, 9.0, 1.0, 1.2, 1.0]},
    "a poor accuracy, but on held-out data": {"accuracy": {"held out": 0.31}},
    "parts in another order": {"includes": PARTS[::-1]},
    "an accuracy of zero": {"accuracy": {"held out": 0.0}},
}
FAULTY: dict[str, list[dict[str, Any]]] = {
    "no interval": [{"values": [1.0, 1.1, 0.9, 1.0, 1.2], "repeated": 5},
                    {"values": [1.0], "repeated": 1}],
    "best of n": [{"repeated": 7}, {"repeated": 600}],
    "no input time": [{"includes": PARTS[1:]}, {"includes": []}],
    "throughput without accuracy": [{"accuracy": {}}],
    "no test accuracy": [{"accuracy": {"training": 0.99}}, {"accuracy": {"validation": 0.97}}],
    "weak scaling sold as strong": [{"batches": {1: 64, 8: 512}}, {"batches": {2: 64, 4: 65}}],
}  # fmt: skip
BECAUSE = {
    "no interval": "Six values are the fewest whose range holds the median in 95 of 100 cases.",
    "best of n": "`repeated` says how often it was measured, and all of that must be in `values`.",
    "no input time": "The word 'input' has to stand in `includes`.",
    "throughput without accuracy": "`accuracy` is empty only if nobody looked.",
    "no test accuracy": "An accuracy on data held out makes up for no other; one on other data "
    "does not make up for it. Where there is none at all, that is the other fault.",
    "weak scaling sold as strong": "Only what is called strong must keep its batch.",
}


def judge_to_target(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The median over seeds of the first moment at the target; never counts."""
    for seeds, misses in ((1, 0), (5, 0), (7, 2), (5, 3), (9, 4)):
        curves = [_curve(generator, place < misses) for place in range(seeds)]
        target = 0.9
        call = f"to_target of {seeds} training{'s' * (seeds > 1)}, {misses} of them never there"
        said = number(stage.call(curves, target), f"{call}: return the seconds", finite=False)
        right = float(np.median(_firsts(curves, target)))
        compare(call, said, right, _wrong_times(curves, target))


def _curve(generator: np.random.Generator, misses: bool) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and accuracies: up to the target exactly, down again once, and above at last."""
    seconds = np.cumsum(generator.uniform(0.5, 1.5, 9))
    right = np.sort(generator.uniform(0.2, 0.85, 9))
    if not misses:
        begin = int(generator.integers(3, 6))
        right[begin], right[begin + 1] = 0.9, 0.87
        right[begin + 2 :] = np.linspace(0.92, 0.95, 7 - begin)
    return seconds, right


def _firsts(curves: list[Curve], target: float) -> list[float]:
    there = [np.flatnonzero(right >= target) for _, right in curves]
    return [
        float(seconds[places[0]]) if len(places) else NEVER
        for (seconds, _), places in zip(curves, there, strict=True)
    ]


def _wrong_times(curves: list[Curve], target: float) -> dict[str, float]:
    firsts = _firsts(curves, target)
    reached = [first for first in firsts if first < NEVER] or [np.nan]
    later = _firsts(curves, np.nextafter(target, 1))

    def median(of: Callable[[np.ndarray, np.ndarray, float], float]) -> float:
        pairs = zip(curves, firsts, strict=True)
        return float(np.median([of(seconds, right, first) for (seconds, right), first in pairs]))

    return {
        "That is the mean: take the median": float(np.mean(firsts)),
        "Trainings that never came there have been left out: they took infinitely long": (
            float(np.median(reached))
        ),
        "That is the luckiest seed: take the median of all": min(reached),
        "That is a mean, and only of those that came there": float(np.mean(reached)),
        "A training that never came there has not come there at its end either: infinity": (
            median(lambda seconds, _, first: seconds[-1] if first == NEVER else first)
        ),
        "At the target is there: >=, not >": float(np.median(later)),
        "That is when it is best; the first time at the target is asked": (
            median(lambda seconds, right, _: seconds[right.argmax()])
        ),
        "Of a training that never came there that is its beginning: np.argmax is 0 where nothing "
        "is True. It has taken infinitely long": (
            median(lambda seconds, _, first: seconds[0] if first == NEVER else first)
        ),
        "That is how long the trainings took in all": median(lambda seconds, *_: seconds[-1]),
    }


def judge_review(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Every fault is found, alone and among others, and no honest report is accused."""
    for told, change in AWKWARD.items():
        _judge_faults(stage, {**HONEST, **change}, set(), f"an honest report ({told})")
    for fault, changes in FAULTY.items():
        for change in changes:
            _judge_faults(stage, {**HONEST, **change}, {fault})
    for _ in range(8):
        many = int(generator.integers(2, 5))
        chosen = set(generator.choice(list(FAULTY), many, replace=False).tolist())
        if {"throughput without accuracy", "no test accuracy"} <= chosen:
            chosen.discard("no test accuracy")
        report = dict(HONEST)
        for fault in sorted(chosen, reverse=True):  # "no interval" before "best of n"
            report |= FAULTY[fault][0]
        if {"no interval", "best of n"} <= chosen:
            report["repeated"] = 9
        _judge_faults(stage, report, chosen)


def _judge_faults(
    stage: ProgramRunner, report: dict[str, Any], faults: set[str], told: str = ""
) -> None:
    told = told or f"{report}, which has {' and '.join(sorted(faults))} only"
    wanted = f"faults of {told}: return a set of names"
    answer = not_none(stage.call(report), wanted)
    if not isinstance(answer, SETS):
        raise Wrong(f"{wanted}, not {str(answer)[:SHOWN]}.")
    found = set(map(str, answer))
    for fault in (*sorted(faults - found), *sorted(found - faults)):
        why = BECAUSE.get(fault, f"The names are {', '.join(BECAUSE)}.")
        raise Wrong(f"'{fault}' is {'not ' * (fault in faults)}found in {told}. {why}")
