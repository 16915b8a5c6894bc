"""The judges of unit 19, second part: sums in many orders, floors of rounding, and the puzzle."""

import math

import numpy as np

from ddl_class.exercises.kit import AnyOf, Attempt, Wrong, ask, items, not_none, seen, texts, whole
from ddl_class.exercises.unit_19.wrong_sums import WRONG, Test, escaped, numbers_of

SPREAD, FLOORS, CASES = texts(__package__, "spread", "floors", "cases")
GOAL, MOST = 24, 10_000  # numbers of all tests


def judge_spread(attempt: Attempt) -> None:
    """How far apart the sums in these orders are, relative to the exact sum."""
    draw = attempt.generator
    for count in (50, 2_000):
        numbers = (10 * draw.normal(size=count) + 1).astype(np.float32)
        numbers[0] += np.float32(1e4)
        orders = [draw.permutation(count) for _ in range(5)]
        sums = [float(np.cumsum(numbers[order])[-1]) for order in orders]
        exact, apart = abs(math.fsum(numbers)), max(sums) - min(sums)
        ask(attempt, SPREAD, (numbers, orders), apart / exact).compare(
            no_order=0.0,
            first_only=AnyOf(abs(sums[0] - exact) / exact, 0.0),
            absolute=apart,
            largest_error=max(abs(total - exact) for total in sums) / exact,
        )


def judge_floors(attempt: Attempt) -> None:
    """How many floors away a candidate is."""
    draw = attempt.generator
    for count, far in ((4, 1.0), (7, 30.0)):
        results = 3 + draw.normal(0, 0.01, (count, 6))
        candidate = results[0] + far * draw.normal(0, 0.01, 6)
        middle = results.mean(axis=0)
        apart = np.linalg.norm(results - middle, axis=1)
        distance = float(np.linalg.norm(candidate - middle))
        ask(attempt, FLOORS, (results, candidate), distance / apart.max()).compare(
            distance=distance,
            relative=distance / np.linalg.norm(middle),
            mean_floor=distance / apart.mean(),
            least_floor=distance / apart.min(),
            from_first=AnyOf(
                np.linalg.norm(candidate - results[0]) / apart.max(),
                distance / np.linalg.norm(results[1:] - results[0], axis=1).max(),
            ),
            upside_down=apart.max() / distance,
        )


def judge_cases(attempt: Attempt) -> None:
    """The tests catch all wrong all-reduces, with few numbers."""
    answer = not_none(attempt.call(), CASES("wanted"))
    tests = items(answer, CASES("wanted"), _test)
    CASES.refuse_if(
        uneven=any(len({len(vector) for vector in test}) != 1 for test in tests),
        empty=any(len(test[0]) == 0 for test in tests),
    )
    numbers = numbers_of(tests)
    CASES.refuse_if({"numbers": numbers, "most": MOST}, endless=numbers > MOST)
    missed = escaped(tests)
    values = {"numbers": numbers, "goal": GOAL, "all": len(WRONG), "count": len(missed)}
    CASES.refuse_if(
        values | {"names": "; ".join(missed[:3]), "more": " and others" * (len(missed) > 3)},
        missed=missed,
        too_many=numbers > GOAL,
    )
    attempt.note(numbers)


def _test(test: Test) -> list[list[int]]:
    """A test as plain numbers; raises `Wrong` for anything else."""
    wanted = CASES("wanted")
    vectors = items(test, wanted, lambda vector: items(vector, wanted, whole))
    if not vectors:
        raise Wrong(CASES("no_ranks", answer=seen(test)))
    return vectors
