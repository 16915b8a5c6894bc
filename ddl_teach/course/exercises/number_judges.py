"""The judges of unit 18, first half: luck, intervals, the slowest rank, two kinds of scaling."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ddl_teach.course.exercises.answers import SHOWN, number
from ddl_teach.course.exercises.exercise import Stage, Wrong
from ddl_teach.measure.interval import interval

CLOSE = 1e-9
ENDS = ("the median", "the low end", "the high end")
COUNTS = (6, 7, 9, 12, 30, 101)  # of times whose interval is asked for
Point = tuple[int, int, float]


def judge_lucky(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The median of theirs over the least of the first `runs` of ours."""
    for count, runs in ((9, 1), (30, 5), (30, 30), (12, 7)):
        ours, theirs = (generator.gamma(9.0, 0.1, count) + 1 for _ in range(2))
        call = f"lucky(ours, theirs, runs={runs}) of {count} times each"
        said = number(stage.call(ours, theirs, runs), f"{call}: return the speed-up")
        right = float(np.median(theirs) / ours[:runs].min())
        if not same(said, right):
            near = next(
                (why for wrong, why in _unlucky(ours, theirs, runs) if same(said, wrong)), ""
            )
            raise Wrong(f"{call} gives {said:.5g}, and {right:.5g} is right. {near}".rstrip())


def _unlucky(ours: np.ndarray, theirs: np.ndarray, runs: int) -> Iterator[tuple[float, str]]:
    best, middle = ours[:runs].min(), float(np.median(theirs))
    yield best / middle, "A speed-up is their time over ours: above 1 if ours is faster."
    yield middle / ours.min(), "Only the first `runs` of ours have been made."
    yield middle / np.median(ours[:runs]), "That is honest: medians of both. Take our best."
    yield theirs.min() / best, "That compares the best of both: theirs must make do with a median."
    yield theirs.mean() / best, "Theirs is to be the median, not the mean."
    yield middle / ours[:runs].max(), "That is our worst."


def judge_interval(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Median and ends, by counting places."""
    for count in (*COUNTS, int(generator.integers(13, 60))):
        times = generator.gamma(2.0, 1.0, count) + 1
        call = f"interval of {count} times"
        wanted = f"{call}: return three numbers, {', '.join(ENDS)}"
        answer = _several(stage.call(times), len(ENDS), wanted)
        said = [number(it, wanted, part=end) for it, end in zip(answer, ENDS, strict=True)]
        right = interval(times)
        if not all(map(same, said, right)):
            near = next(
                (why for wrong, why in _wrong_intervals(times) if all(map(same, said, wrong))), ""
            )
            raise Wrong(f"{call}: {_listed(said)}, and {_listed(right)} is right. {near}".rstrip())


def _wrong_intervals(times: np.ndarray) -> Iterator[tuple[tuple[float, ...], str]]:
    ordered, count = np.sort(times), len(times)
    middle, low, high = interval(times)
    left_out = int(np.searchsorted(ordered, low))
    yield (float(times.mean()), low, high), "The first number is the median, not the mean."
    yield (middle, high, low), "The ends are swapped: low comes first."
    yield (
        (middle, times[left_out], times[count - 1 - left_out]),
        "The places are right, but not in these times: sort them first.",
    )
    yield (
        (middle, ordered[0], ordered[-1]),
        "That is all that was measured, from least to most. With more times the ends move in: "
        "leave out as many at each end as the sum allows.",
    )
    yield (
        (middle, *np.percentile(times, (2.5, 97.5)).tolist()),
        "Between these lie 95 of 100 times. Asked is where their true median lies, and that is "
        "known the better the more times there are.",
    )
    reach = 1.96 * times.std(ddof=1) / math.sqrt(count)
    for spread in (reach, reach * times.std() / times.std(ddof=1)):
        for center in (middle, float(times.mean())):
            yield (
                (center, center - spread, center + spread),
                "That holds for a bell curve only, and times have a long tail on one side. Count "
                "places instead.",
            )
    for wrong in (left_out - 1, left_out + 1):
        if 0 <= wrong < count / 2:
            yield (
                (middle, ordered[wrong], ordered[count - 1 - wrong]),
                "One place off. With `left` times left out at an end, that end misses the median "
                "when at most `left` times lie below it; the chance of that may be 0.025.",
            )
    one_sided = interval(times, 0.9)
    yield one_sided, "The 0.05 are for both ends together: each may miss in 0.025."


def judge_slowest(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """For each repetition the time of the slowest rank, on every rank."""
    for count in sorted(ranks):
        own = [generator.gamma(2.0, 1.0, 7) for _ in range(count)]
        table = np.array(own)
        right = table.max(axis=0)
        outcome = stage.run(count, [(seconds,) for seconds in own])
        call = f"slowest on {count} rank{'s' * (count > 1)}"
        for rank, value in enumerate(outcome.results):
            if value is None:
                raise Wrong(
                    f"{call}: rank {rank} returns None. Is a `return` missing? (ring.allreduce "
                    "works in place and returns nothing itself.)"
                )
            said = _row(value, f"{call}: return a time for each repetition", rank)
            if said.ndim > 1:
                raise Wrong(
                    f"{call}: rank {rank} returns an array of shape {said.shape}. Return one "
                    "plain row, a time for each repetition."
                )
            if said.shape != right.shape:
                raise Wrong(
                    f"{call}: rank {rank} returns {said.size} numbers for {right.size} "
                    "repetitions. The slowest rank is another one each time: one time for each."
                )
            if not np.allclose(said, right, rtol=CLOSE):
                near = next(
                    (why for wrong, why in _wrong_rows(table, rank) if np.allclose(said, wrong)),
                    "",
                )
                raise Wrong(
                    f"{call}: rank {rank} has {said[0]:.4g} for the first repetition, the slowest "
                    f"rank took {right[0]:.4g}. {near}".rstrip()
                )
        if any(not np.array_equal(left[0], had) for left, had in
               zip(outcome.arguments, own, strict=True)):  # fmt: skip
            raise Wrong(
                f"{call}: `seconds` has changed. A rank's own times are data: copy them first."
            )


def _wrong_rows(table: np.ndarray, rank: int) -> Iterator[tuple[np.ndarray, str]]:
    yield table[rank], "These are the rank's own times: who waits for it does not know them."
    yield table[0], "These are rank 0's times, and rank 0 knows nothing of the others."
    yield table.mean(axis=0), "That is the mean: a step is over when the last rank is done."
    yield table.sum(axis=0), "That is the sum: add up nothing, take the largest."
    yield table.min(axis=0), "That is the fastest rank."
    yield (
        table[table.sum(axis=1).argmax()],
        "That is the rank that is slowest in all. Ask again in each repetition.",
    )


def judge_scaling(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Which scaling it is, and how much of the ranks is used."""
    for points in _scalings(generator):
        call = f"scaling({points})"
        wanted = f"{call}: return two things, the kind and the efficiency"
        kind, efficiency = _several(stage.call(points), 2, wanted)
        right, share = _scaling(points)
        if str(kind) != right:
            raise Wrong(f"{call}: you call it {kind!r}, and it is {right!r}. {_why(right)}")
        if share is None:
            if efficiency is not None:
                raise Wrong(f"{call}: what is neither has no efficiency: return None for it.")
            continue
        said = number(efficiency, wanted, part="the efficiency")
        if not same(said, share):
            near = named(said, _wrong_shares(points))
            raise Wrong(f"{call}: {said:.4g}, and {share:.4g} is right. {near}".rstrip())


def _scalings(generator: np.random.Generator) -> Iterator[list[Point]]:
    def seconds() -> float:
        return round(float(generator.uniform(1, 9)), 3)

    for first in (1, 2, 3):
        counts = [first, 2 * first, 8 * first]
        yield [(ranks, 48, seconds()) for ranks in counts]
        yield [(ranks, 16 * ranks, seconds()) for ranks in counts]
    yield [(1, 32, seconds()), (2, 32, seconds()), (4, 128, seconds())]
    yield [(1, 32, seconds()), (2, 40, seconds()), (4, 128, seconds())]
    yield [(1, 32, seconds()), (2, 48, seconds()), (4, 32, seconds())]


def _scaling(points: list[Point]) -> tuple[str, float | None]:
    (first, batch, before), (last, _, after) = points[0], points[-1]
    if all(it[1] == batch for it in points):
        return "strong", before * first / (after * last)
    if all(it[1] * first == batch * it[0] for it in points):
        return "weak", before / after
    return "neither", None


def _why(kind: str) -> str:
    return {
        "strong": "The whole batch is the same at every number of ranks.",
        "weak": "Each rank has as many samples at every number of ranks.",
        "neither": "Look at all points, not only at the first and the last.",
    }[kind]


def _wrong_shares(points: list[Point]) -> Iterator[tuple[float, str]]:
    (first, _, before), (last, _, after) = points[0], points[-1]
    ratio, more = before / after, last / first
    yield ratio * more, "That is a speed-up in samples a second: divide by how many more ranks."
    yield ratio, "That is the speed-up: divide it by how many times as many ranks there are."
    yield ratio / more, "In weak scaling there is more work: with perfect scaling the time stays."
    yield ratio / last, "Divide by last ranks / first ranks: the first point may have several."
    yield 1 / ratio, "Upside down: the first time over the last."
    yield more / ratio, "Upside down: the first time over the last."


def same(one: float, other: float) -> bool:
    """Whether two numbers differ by rounding only."""
    return math.isclose(one, other, rel_tol=CLOSE)


def named(said: float, usual: Iterable[tuple[float, str]]) -> str:
    """What the usual mistake is called that gives this number, if one does."""
    return next((why for wrong, why in usual if same(said, wrong)), "")


def _several(value: Any, count: int, wanted: str) -> tuple[Any, ...]:
    if value is None:
        raise Wrong(f"{wanted}; yours returns None. Is a `return` missing?")
    try:
        found = () if isinstance(value, str | bytes) else tuple(value)
    except TypeError:
        found = ()
    if len(found) != count:
        raise Wrong(f"{wanted}, not {str(value)[:SHOWN]}.")
    return found


def _row(value: Any, wanted: str, rank: int) -> np.ndarray:
    try:
        return np.atleast_1d(np.asarray(value, float))
    except (TypeError, ValueError):
        raise Wrong(f"{wanted}: rank {rank} returns {str(value)[:SHOWN]}.") from None


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{it:.4g}" for it in numbers)
