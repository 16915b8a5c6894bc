"""The judges of unit 19: two rules side by side, the verdict on a recipe, and the puzzle."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, ask, compare, equal, held, texts, within
from ddl_class.exercises.kit.answers import SHOWN, items, not_none, seen, whole
from ddl_class.exercises.unit_19.wrong_sums import WRONG, Test, escaped, numbers_of
from ddl_measure.levels.training_level import divergence, rule_of
from ddl_teach.training.optimizers.momentum import Momentum

PARTED, APART, WORKED = texts(__package__, "parted", "apart", "worked")
Forward = Callable[[np.ndarray], np.ndarray]
Backward = Callable[[np.ndarray, np.ndarray], np.ndarray]
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]
Looks = Sequence[float]


def judge_parted(attempt: Attempt) -> None:
    """The first step at which two curves are not close, or None."""
    draw = attempt.generator
    for differences in ([0, 0, -2, 0, 2, -2, 0], [0, 0, 2, 2], [-2, 0], [0, 0, 0]):
        reference = draw.integers(-9, 9, len(differences)).tolist()
        own = [at + apart for at, apart in zip(reference, differences, strict=True)]
        call = PARTED("call", own=own, reference=reference, close=1)
        answer = attempt.call(own, reference, 1)
        steps = [step for step, apart in enumerate(differences) if apart]
        values = {"call": call, "close": 1, "answer": seen(answer), "right": min(steps, default=0)}
        PARTED.refuse_if(
            values, never=not steps and answer is not None, too_early=steps and answer is None
        )
        if steps:
            above = min((step for step in steps if differences[step] > 0), default=-1)
            held(PARTED, call, 0, answer, steps[0]).compare(
                one_side=above, last=steps[-1], from_one=steps[0] + 1
            )


def judge_apart(attempt: Attempt) -> None:
    """|own - reference's| / |way of the reference| after each step."""
    draw = attempt.generator
    for steps in (1, 7):
        curvatures, noise = draw.uniform(0.2, 3, 5), draw.standard_normal((steps, 5))
        weights = draw.standard_normal(5)

        def slope(weights: np.ndarray, step: int, c: Any = curvatures, n: Any = noise) -> Any:
            return c * weights + n[step]

        for name, share in (("the same rule", 0.9), ("a wrong one", 0.5)):
            pair = [partial(rule_of, Momentum(momentum=part), 1) for part in (share, 0.9)]
            right = divergence(pair[0](), pair[1](), slope, weights.copy(), steps)
            given = *(make() for make in pair), slope, weights, steps
            answer = ask(attempt, APART, given, right, same=within(1e-6, 1e-9), name=name)
            if not np.isfinite(answer.result).all():
                raise Wrong(APART("infinite", **answer.known, answer=answer.result.tolist()))
            answer.compare(_wrong_rows(pair, slope, weights, steps))


def judge_worked(attempt: Attempt) -> None:
    """Every training has the given number of looks in a row at the target or above it."""
    draw, good, low = attempt.generator, [0.5, 0.91, 0.92], [0.5, 0.6, 0.7]
    drawn = [
        ([list(draw.choice([0.8, 0.9, 0.95], 6)) for _ in range(2)], int(in_a_row))
        for in_a_row in draw.integers(1, 4, 6)
    ]
    for trainings, in_a_row in (
        ([good, good, good], 3), ([good, good], 2), ([good, low], 1), ([good, []], 1),
        ([[0.5, 0.92, 0.8, 0.92]], 2), ([[0.92, 0.92, 0.8]], 2), ([[0.5, 0.9]], 1),
        ([low, good], 1), *drawn,
    ):  # fmt: skip
        given: dict[str, Any] = {"trainings": trainings, "target": 0.9, "in_a_row": in_a_row}
        call = WORKED("call", **given)
        answer = attempt.call([list(each) for each in trainings], 0.9, in_a_row)
        if not isinstance(answer, (bool, np.bool_)):
            raise Wrong(WORKED("wanted", call=call, answer=str(answer)[:SHOWN]))
        there = [[look >= 0.9 for look in looks] for looks in trainings]
        usual = WORKED.each(
            crashed=_worked([looks for looks in trainings if looks], 0.9, in_a_row),
            one_seed=any(_worked([looks], 0.9, in_a_row) for looks in trainings),
            all_looks=all(sum(looks) >= in_a_row for looks in there),
            last_looks=all(looks and all(looks[-in_a_row:]) for looks in there),
            above=_worked(trainings, np.nextafter(0.9, 1), in_a_row),
            one_look=all(any(looks) for looks in there),
        )
        compare(call, bool(answer), _worked(**given), usual, same=equal)


def layers(random: np.random.Generator) -> Iterator[tuple[str, Forward, Backward, np.ndarray]]:
    """Functions with their gradients, right and wrong ones."""
    matrix = random.standard_normal((4, 3))

    def bend(x: np.ndarray) -> np.ndarray:
        return np.tanh(matrix @ x)

    def bent(x: np.ndarray, towards: np.ndarray) -> np.ndarray:
        return matrix.T @ (towards * (1 - bend(x) ** 2))

    x, table = random.standard_normal(3), random.standard_normal((2, 3))
    yield "a layer with a tanh", bend, bent, x
    last_wrong = np.array([1, 1, 1.1])
    yield "a layer whose last number is wrong", bend, lambda x, t: bent(x, t) * last_wrong, x
    yield "cubes of a table", lambda x: x**3, lambda x, t: 3 * x**2 * t, table
    yield "cubes with half the gradient", lambda x: x**3, lambda x, t: 1.5 * x**2 * t, table


def error(
    forward: Forward, backward: Backward, x: np.ndarray, towards: np.ndarray, step: float,
    behind: float = 1.0, over: float = 2.0, relative: bool = True, times: Any = None,
    norm: Callable[[np.ndarray], float] = np.linalg.norm,
) -> float:  # fmt: skip
    """How far a gradient is from differences, relatively; or what a mistake makes of it."""
    result = np.empty(x.size)
    for place, way in enumerate(step * np.eye(x.size).reshape(x.size, *x.shape)):
        risen = forward(x + way) - forward(x - behind * way)
        result[place] = np.sum((towards if times is None else times) * risen) / (over * step)
    apart = norm(np.ravel(backward(x, towards)) - result)
    return float(apart / norm(result) if relative else apart)


def _wrong_rows(
    pair: Sequence[Callable[[], Rule]], slope: Callable[..., Any], weights: np.ndarray, steps: int
) -> dict[str, np.ndarray]:
    def walk(own_slopes: bool, over: Callable[[np.ndarray], float]) -> np.ndarray:
        rule, reference = (make() for make in pair)
        own, right, row = weights.copy(), weights.copy(), []
        for step in range(steps):
            slopes = slope(own if own_slopes else right, step), slope(right, step)
            own, right = rule(own, slopes[0]), reference(right, slopes[1])
            row.append(np.linalg.norm(own - right) / over(right))
        return np.array(row)

    return APART.each(
        own_gradients=walk(True, lambda right: float(np.linalg.norm(right - weights))),
        absolute=walk(False, lambda right: 1.0),
        by_weights=walk(False, lambda right: float(np.linalg.norm(right))),
    )


def _worked(trainings: Sequence[Looks], target: float, in_a_row: int) -> bool:
    """Whether each training has `in_a_row` looks in a row at the target or above it."""
    runs = [groupby(looks, lambda look: look >= target) for looks in trainings]
    longest = [max((len(list(run)) for good, run in each if good), default=0) for each in runs]
    return min(longest, default=in_a_row) >= in_a_row


(CASES,) = texts(__package__, "cases")
GOAL, MOST = 24, 10_000  # numbers of all tests


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
    attempt.note(numbers, CASES("holds", nbytes=8 * numbers))


def _test(test: Test) -> list[list[int]]:
    """A test as plain numbers; raises `Wrong` for anything else."""
    wanted = CASES("wanted")
    vectors = items(test, wanted, lambda vector: items(vector, wanted, whole))
    if not vectors:
        raise Wrong(CASES("no_ranks", answer=seen(test)))
    return vectors
