"""The judges of unit 19: a gradient check, two rules side by side, and the verdict on a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ddl_teach.course.exercises.answers import number
from ddl_teach.course.exercises.exercise import Stage, Wrong
from ddl_teach.measure.levels.training import divergence

SHOWN = 60  # letters of an answer that is none
Forward = Callable[[np.ndarray], np.ndarray]
Backward = Callable[[np.ndarray, np.ndarray], np.ndarray]
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


def judge_gradient(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """|backward - differences| / |differences|, with central differences of every number."""
    for name, forward, backward, x in _layers(generator):
        towards = generator.standard_normal(forward(x).shape)
        for step in (1e-2, 1e-3):
            given = forward, backward, x.copy(), towards.copy(), step
            call = f"gradient_error of {name}, step={step:g}"
            said = number(stage.call(*given), f"{call}: return the relative error")
            right = _error(_central, forward, backward, x, towards, step)
            if np.isclose(said, right, rtol=1e-3, atol=1e-10):
                continue
            fits = (
                why
                for wrong, why in _wrong_errors(forward, backward, x, towards, step)
                if np.isclose(said, wrong, rtol=1e-3, atol=1e-12)
            )
            near = next(fits, "")
            raise Wrong(f"{call} gives {said:.6g}, and {right:.6g} is right. {near}".rstrip())


def judge_apart(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """|own - reference's| / |way of the reference| after each step."""
    for steps in (1, 7):
        curvatures, noise = generator.uniform(0.2, 3, 5), generator.standard_normal((steps, 5))
        weights = generator.standard_normal(5)

        def slope(weights: np.ndarray, step: int, c: Any = curvatures, n: Any = noise) -> Any:
            return c * weights + n[step]

        for name, share in (("the same rule", 0.9), ("a wrong one", 0.5)):
            pair = partial(_momentum, share), partial(_momentum, 0.9)
            call = f"apart of {name}, steps={steps}"
            rules = (make() for make in pair)
            said = _row(stage.call(*rules, slope, weights.copy(), steps), call, steps)
            wanted = divergence(*(make() for make in pair), slope, weights.copy(), steps)
            if np.allclose(said, wanted, rtol=1e-6, atol=1e-9):
                continue
            fits = (
                why
                for row, why in _wrong_rows(pair, slope, weights, steps)
                if np.allclose(said, row, rtol=1e-6, atol=1e-9)
            )
            near = next(fits, "")
            place = int(np.argmax(~np.isclose(said, wanted, rtol=1e-6, atol=1e-9)))
            raise Wrong(
                f"{call}: after step {place + 1} yours is {said[place]:.6g}, and "
                f"{wanted[place]:.6g} is right. {near}".rstrip()
            )


def judge_worked(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
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
        if bool(said) == right:
            continue
        fits = (
            why
            for wrong, why in _wrong_verdicts(trainings, target, in_a_row)
            if wrong == bool(said)
        )
        near = next(fits, "")
        raise Wrong(f"{call} gives {bool(said)}, and {right} is right. {near}".rstrip())


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

    x = random.standard_normal(3)
    yield "a layer with a tanh", bend, bent, x
    yield "a layer whose last number is wrong", bend, last_wrong, x
    table = random.standard_normal((2, 3))
    yield "cubes of a table", _cube, _cubes, table
    yield "cubes with half the gradient", _cube, lambda x, t: _cubes(x, t) / 2, table


def _cube(x: np.ndarray) -> np.ndarray:
    return x**3


def _cubes(x: np.ndarray, towards: np.ndarray) -> np.ndarray:
    return 3 * x**2 * towards


def _central(function: Callable[[np.ndarray], float], x: np.ndarray, way: np.ndarray) -> float:
    return function(x + way) - function(x - way)


def _error(
    difference: Callable, forward: Forward, backward: Backward, x: np.ndarray,
    towards: np.ndarray, step: float, over: float = 2.0, relative: bool = True,
    norm: Callable[[np.ndarray], float] = np.linalg.norm,
) -> float:  # fmt: skip
    found = np.empty(x.size)
    for place in range(x.size):
        way = np.zeros(x.size)
        way[place] = step
        found[place] = difference(
            lambda x: float(np.sum(towards * forward(x))), x, way.reshape(x.shape)
        )
    found /= over * step
    apart = norm(np.ravel(backward(x, towards)) - found)
    return float(apart / norm(found) if relative else apart)


def _wrong_errors(
    forward: Forward, backward: Backward, x: np.ndarray, towards: np.ndarray, step: float
) -> Iterator[tuple[float, str]]:
    given = forward, backward, x, towards, step

    def ahead(function: Callable[[np.ndarray], float], x: np.ndarray, way: np.ndarray) -> float:
        return function(x + way) - function(x)

    yield (
        _error(ahead, *given, over=1.0),
        (
            "You go forward only, f(x + h) - f(x): its error falls like h. Go both ways, "
            "(f(x + h) - f(x - h)) / 2h: then it falls like h squared."
        ),
    )
    yield (
        _error(_central, *given, over=1.0),
        ("The two points are 2 * step apart: divide by that."),
    )
    yield (
        _error(_central, *given, relative=False),
        (
            "That is the error itself: divide it by the length of the differences, or a small "
            "gradient would always be right."
        ),
    )
    yield (
        _error(_central, *given, norm=np.sum),
        ("These are sums, in which errors of two signs cancel: take lengths, np.linalg.norm."),
    )
    yield (
        _error(_central, *given, norm=lambda v: float(np.abs(v).max())),
        ("That is the largest error: take lengths, np.linalg.norm, of both."),
    )
    ones = np.ones_like(towards)
    yield (
        _error(_central, forward, lambda x, _: backward(x, towards), x, ones, step),
        ("You add up what forward gives: multiply it by towards first."),
    )


def _momentum(share: float) -> Rule:
    moment: list[np.ndarray] = []

    def rule(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        moment[:] = [share * moment[0] + gradient if moment else gradient.copy()]
        return weights - 0.1 * moment[0]

    return rule


def _wrong_rows(
    pair: tuple[Callable[[], Rule], Callable[[], Rule]], slope: Callable, weights: np.ndarray,
    steps: int,
) -> Iterator[tuple[np.ndarray, str]]:  # fmt: skip
    for own_slopes, way, why in (
        (True, True, "Each rule walks along gradients of its own weights: then they part further "
         "and further, and nobody knows whose fault it is. Give both the gradient at the "
         "reference's weights."),
        (False, False, "That is how far they are apart: divide it by the way that the reference "
         "has gone from the first weights."),
    ):  # fmt: skip
        rule, reference = (make() for make in pair)
        own, right, row = weights.copy(), weights.copy(), []
        for step in range(steps):
            slopes = slope(own, step) if own_slopes else slope(right, step), slope(right, step)
            own, right = rule(own, slopes[0]), reference(right, slopes[1])
            apart = np.linalg.norm(own - right)
            row.append(apart / np.linalg.norm(right - weights) if way else apart)
        yield np.array(row), why
    rule, reference = (make() for make in pair)
    own, right, row = weights.copy(), weights.copy(), []
    for step in range(steps):
        slopes = slope(right, step)
        own, right = rule(own, slopes), reference(right, slopes)
        row.append(np.linalg.norm(own - right) / np.linalg.norm(right))
    yield (
        np.array(row),
        (
            "You divide by the reference's weights, which are large before anything has been "
            "learnt: divide by the way that it has gone, |right - first weights|."
        ),
    )


def _row(value: Any, call: str, steps: int) -> np.ndarray:
    if value is None:
        raise Wrong(f"{call}: yours returns None. Is a `return` missing?")
    try:
        row = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        row = np.empty(0)
    if row.shape != (steps,) or not np.isfinite(row).all():
        raise Wrong(
            f"{call}: return {steps} finite numbers, one after each step, not "
            f"{str(value)[:SHOWN]}."
        )
    return row


def _longest(looks: Sequence[float], enough: Callable[[float], bool]) -> int:
    best = run = 0
    for look in looks:
        run = run + 1 if enough(look) else 0
        best = max(best, run)
    return best


def _worked(trainings: Sequence[Sequence[float]], target: float, in_a_row: int) -> bool:
    return all(_longest(looks, lambda it: it >= target) >= in_a_row for looks in trainings)


def _wrong_verdicts(
    trainings: Sequence[Sequence[float]], target: float, in_a_row: int
) -> Iterator[tuple[bool, str]]:
    there = [_longest(looks, lambda it: it >= target) >= in_a_row for looks in trainings]
    kept = [ok for ok, looks in zip(there, trainings, strict=True) if looks]
    yield all(kept), "A training without looks has crashed: it never got there, and it counts."
    yield (
        any(there),
        ("One lucky seed is enough for you: the recipe has worked if *every* training got there."),
    )
    yield (
        all(sum(it >= target for it in looks) >= in_a_row for looks in trainings),
        (
            "You count all looks at the target: they must follow each other, or an accuracy that "
            "goes up and down gets there by luck."
        ),
    )
    yield (
        all(min([*looks[-in_a_row:], *[0] * (not looks)]) >= target for looks in trainings),
        (
            "You look at the end only: it has worked as soon as it has been there for so many "
            "looks."
        ),
    )
    yield (
        all(_longest(looks, lambda it: it > target) >= in_a_row for looks in trainings),
        ("At the target counts as well as above it: >=."),
    )
    yield (
        all(max([*looks, 0]) >= target for looks in trainings),
        ("One look is enough for you: `in_a_row` of them must follow each other."),
    )
