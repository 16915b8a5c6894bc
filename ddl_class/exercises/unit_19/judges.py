"""The judges of unit 19: a gradient check, two rules side by side, and the verdict on a recipe."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit.answers import SHOWN, array, number
from ddl_class.exercises.kit.compare import compare, equal, within
from ddl_measure.levels.training_level import divergence

Forward = Callable[[np.ndarray], np.ndarray]
Backward = Callable[[np.ndarray, np.ndarray], np.ndarray]
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]
Looks = Sequence[float]


def judge_gradient(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """|backward - differences| / |differences|, with central differences of every number."""
    for name, forward, backward, x in _layers(generator):
        towards = generator.standard_normal(forward(x).shape)
        for step in (1e-2, 1e-3):
            given = forward, backward, x.copy(), towards.copy(), step
            call = f"gradient_error of {name}, step={step:g}"
            said = number(stage.call(*given), f"{call}: return the relative error")
            compare(call, said, _error(*given), _wrong_errors(*given), same=within(1e-3, 1e-10))


def judge_apart(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """|own - reference's| / |way of the reference| after each step."""
    for steps in (1, 7):
        curvatures, noise = generator.uniform(0.2, 3, 5), generator.standard_normal((steps, 5))
        weights = generator.standard_normal(5)

        def slope(weights: np.ndarray, step: int, c: Any = curvatures, n: Any = noise) -> Any:
            return c * weights + n[step]

        for name, share in (("the same rule", 0.9), ("a wrong one", 0.5)):
            pair = partial(_momentum, share), partial(_momentum, 0.9)
            call = f"apart of {name}, steps={steps}"
            wanted = f"{call}: return {steps} finite numbers, one after each step"
            answer = stage.call(*(make() for make in pair), slope, weights.copy(), steps)
            said = array(answer, wanted, (steps,))
            if not np.isfinite(said).all():
                raise Wrong(f"{wanted}, not {str(answer)[:SHOWN]}.")
            right = divergence(*(make() for make in pair), slope, weights.copy(), steps)
            usual = _wrong_rows(pair, slope, weights, steps)
            compare(call, said, right, usual, same=within(1e-6, 1e-9))


def judge_worked(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Every training has so many looks in a row at the target or above it."""
    drawn = [
        ([list(generator.choice([0.8, 0.9, 0.95], 6)) for _ in range(2)], 0.9, int(in_a_row))
        for in_a_row in generator.integers(1, 4, 6)
    ]
    good, low = [0.5, 0.91, 0.92], [0.5, 0.6, 0.7]
    for trainings, target, in_a_row in (
        ([good, good, good], 0.9, 3), ([good, good], 0.9, 2), ([good, low], 0.9, 1),
        ([good, []], 0.9, 1),
        ([[0.5, 0.92, 0.8, 0.92]], 0.9, 2), ([[0.92, 0.92, 0.8]], 0.9, 2),
        ([[0.5, 0.9]], 0.9, 1), ([low, good], 0.9, 1), *drawn,
    ):  # fmt: skip
        call = f"has_worked({trainings}, target={target}, in_a_row={in_a_row})"
        said = stage.call([list(each) for each in trainings], target, in_a_row)
        if not isinstance(said, (bool, np.bool_)):
            raise Wrong(f"{call}: return True or False, not {str(said)[:SHOWN]}.")
        right = _worked(trainings, target, in_a_row)
        compare(call, bool(said), right, _wrong_verdicts(trainings, target, in_a_row), same=equal)


def _layers(random: np.random.Generator) -> Iterator[tuple[str, Forward, Backward, np.ndarray]]:
    """Functions with their gradients, right and wrong ones."""
    matrix = random.standard_normal((4, 3))

    def bend(x: np.ndarray) -> np.ndarray:
        return np.tanh(matrix @ x)

    def bent(x: np.ndarray, towards: np.ndarray) -> np.ndarray:
        return matrix.T @ (towards * (1 - bend(x) ** 2))

    def last_wrong(x: np.ndarray, towards: np.ndarray) -> np.ndarray:
        gradient = bent(x, towards)
        gradient[-1] *= 1.1
        return gradient

    x, table = random.standard_normal(3), random.standard_normal((2, 3))
    yield "a layer with a tanh", bend, bent, x
    yield "a layer whose last number is wrong", bend, last_wrong, x
    yield "cubes of a table", lambda x: x**3, lambda x, t: 3 * x**2 * t, table
    yield "cubes with half the gradient", lambda x: x**3, lambda x, t: 1.5 * x**2 * t, table


def _error(
    forward: Forward, backward: Backward, x: np.ndarray, towards: np.ndarray, step: float,
    behind: float = 1.0, over: float = 2.0, relative: bool = True,
    norm: Callable[[np.ndarray], float] = np.linalg.norm,
) -> float:  # fmt: skip
    found = np.empty(x.size)
    for place, way in enumerate(step * np.eye(x.size).reshape(x.size, *x.shape)):
        risen = forward(x + way) - forward(x - behind * way)
        found[place] = np.sum(towards * risen) / (over * step)
    apart = norm(np.ravel(backward(x, towards)) - found)
    return float(apart / norm(found) if relative else apart)


def _wrong_errors(
    forward: Forward, backward: Backward, x: np.ndarray, towards: np.ndarray, step: float
) -> dict[str, float]:
    wrong = partial(_error, forward, backward, x, towards, step)
    ones = np.ones_like(towards)
    return {
        "You go forward only, f(x + h) - f(x): its error falls like h. Go both ways, "
        "(f(x + h) - f(x - h)) / 2h: then it falls like h squared": wrong(behind=0, over=1.0),
        "The two points are 2 * step apart: divide by that": wrong(over=1.0),
        "That is the error itself: divide it by the length of the differences, or a small "
        "gradient would always be right": wrong(relative=False),
        "These are sums, in which errors of two signs cancel: take lengths, np.linalg.norm": (
            wrong(norm=np.sum)
        ),
        "That is the largest error: take lengths, np.linalg.norm, of both": (
            wrong(norm=lambda v: float(np.abs(v).max()))
        ),
        "You add up what forward gives: multiply it by towards first": (
            _error(forward, lambda x, _: backward(x, towards), x, ones, step)
        ),
    }


def _momentum(share: float) -> Rule:
    moment: list[np.ndarray] = []

    def rule(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        moment[:] = [share * moment[0] + gradient if moment else gradient.copy()]
        return weights - 0.1 * moment[0]

    return rule


def _wrong_rows(
    pair: tuple[Callable[[], Rule], Callable[[], Rule]], slope: Callable, weights: np.ndarray,
    steps: int,
) -> dict[str, np.ndarray]:  # fmt: skip
    def walk(own_slopes: bool, over: Callable[[np.ndarray], float]) -> np.ndarray:
        rule, reference = (make() for make in pair)
        own, right, row = weights.copy(), weights.copy(), []
        for step in range(steps):
            slopes = slope(own if own_slopes else right, step), slope(right, step)
            own, right = rule(own, slopes[0]), reference(right, slopes[1])
            row.append(np.linalg.norm(own - right) / over(right))
        return np.array(row)

    return {
        "Each rule walks along gradients of its own weights: then they part further and further, "
        "and nobody knows whose fault it is. Give both the gradient at the reference's weights": (
            walk(True, lambda right: float(np.linalg.norm(right - weights)))
        ),
        "That is how far they are apart: divide it by the way that the reference has gone from "
        "the first weights": walk(False, lambda right: 1.0),
        "You divide by the reference's weights, which are large before anything has been learnt: "
        "divide by the way that it has gone, |right - first weights|": (
            walk(False, lambda right: float(np.linalg.norm(right)))
        ),
    }


def _longest(looks: Looks, enough: Callable[[float], bool]) -> int:
    """How many looks in a row are enough, at most."""
    return max((len(list(run)) for good, run in groupby(looks, enough) if good), default=0)


def _worked(trainings: Sequence[Looks], target: float, in_a_row: int) -> bool:
    return all(_longest(looks, lambda look: look >= target) >= in_a_row for looks in trainings)


def _wrong_verdicts(trainings: Sequence[Looks], target: float, in_a_row: int) -> dict[str, bool]:
    return {
        "A training without looks has crashed: it never got there, and it counts": (
            _worked([looks for looks in trainings if looks], target, in_a_row)
        ),
        "One lucky seed is enough for you: the recipe has worked if *every* training got there": (
            any(_worked([looks], target, in_a_row) for looks in trainings)
        ),
        "You count all looks at the target: they must follow each other, or an accuracy that goes "
        "up and down gets there by luck": (
            all(sum(look >= target for look in looks) >= in_a_row for looks in trainings)
        ),
        "You look at the end only: it has worked as soon as it has been there for so many looks": (
            all(min([*looks[-in_a_row:], *[0] * (not looks)]) >= target for looks in trainings)
        ),
        "At the target counts as well as above it: >=": (
            all(_longest(looks, lambda look: look > target) >= in_a_row for looks in trainings)
        ),
        "One look is enough for you: `in_a_row` of them must follow each other": (
            all(max([*looks, 0]) >= target for looks in trainings)
        ),
    }
