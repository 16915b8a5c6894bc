"""The judges of unit 04, second half: a pairwise sum, and a step with a dynamic loss scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit.answers import array, number, several
from ddl_class.exercises.kit.compare import why, within

HALF = 2.0**-11  # the unit roundoff of float16
WANTED = "return the sum"


def judge_pairwise(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Within the bound of a tree, in float16, for any number of terms."""
    for terms in (7, 64, 1000, 4096, int(generator.integers(2049, 6000)), 3, 2, 1):
        samples = [generator.random(terms), np.ones(terms), generator.standard_normal(terms)]
        for values in samples:
            x = values.astype(np.float16)
            found = number(stage.call(x), WANTED, finite=False)
            exact, sizes = math.fsum(x.tolist()), math.fsum(np.abs(x).tolist())
            levels = max(1, (terms - 1).bit_length())
            error = abs(found - exact)
            if error <= 1.01 * levels * HALF * sizes:
                continue
            told = (
                f"the sum of {terms} numbers of float16 is {exact:.6g}; yours says {found:.6g}. "
            )
            raise Wrong(told + _about_sum(found, x, exact))
    _judge_type(stage, generator)


def _judge_type(stage: ProgramRunner, generator: np.random.Generator) -> None:
    """Sums of float16 are hardly ever right to the last bit; always is too good."""
    for _ in range(25):
        x = generator.random(300).astype(np.float16)
        exact = math.fsum(x.tolist())
        off = abs(number(stage.call(x), WANTED, finite=False) - exact)
        if off > abs(float(np.float16(exact)) - exact):
            return
    raise Wrong(
        "too good: 25 sums in a row are right to the last bit of float16. You add in a wider "
        "format, or remember what is lost. Both are good ideas, but here only the "
        "order may change: no conversion, and no np.sum."
    )


def _about_sum(found: float, x: np.ndarray, exact: float) -> str:
    total = np.float16(0)
    for term in x:
        total = np.float16(total + term)
    if found == float(total):
        return "That is what one after the other gives. Add two halves of it, each by halves."
    if len(x) > 1 and found == float(x[0]):
        return "That is the first number alone."
    if math.isclose(found, exact / len(x), rel_tol=1e-2):
        return "That is the mean."
    middle = len(x) // 2
    halves = [math.fsum(x[:middle].tolist()), math.fsum(x[middle:].tolist())]
    if any(math.isclose(found, half, rel_tol=1e-2) for half in halves):
        return "That is one half of the numbers. Add the sums of both halves."
    if len(x) % 2:
        return (
            "Their number is odd: a number without a partner goes on to the next level as it is."
        )
    return "Add the sum of the first half and the sum of the second, each found in the same way."


def judge_scaling(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Unscale in float32, skip and back off on overflow, grow after enough good steps."""
    for interval in (1, 2, 5):
        for good in range(interval):
            _judge_good(stage, generator, interval, good)
        for bad in (np.inf, -np.inf, np.nan):
            _judge_overflow(stage, generator, interval, bad)


def _task(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Weights, a gradient of float16 that is tiny once unscaled, its scale, a rate."""
    weights = generator.standard_normal((3, 4)).astype(np.float32)
    gradient = generator.standard_normal((3, 4)).astype(np.float16)
    scale = 2.0 ** int(generator.integers(26, 30))
    return weights, gradient, scale, float(2.0**26 * generator.uniform(1, 2))


def _judge_good(
    stage: ProgramRunner, generator: np.random.Generator, interval: int, good: int
) -> None:
    weights, gradient, scale, rate = _task(generator)
    said = stage.call(weights, gradient, scale, good, interval, rate)
    found, new_scale, new_good = _three(said, weights)
    right = weights - rate * gradient.astype(np.float32) / np.float32(scale)
    told = f"after a good step, the {good + 1}. in a row, with interval={interval}: "
    if found.dtype == np.float16:
        raise Wrong(
            f"{told}the weights have become float16. They must stay float32, or small updates are "
            "rounded away."
        )
    if not np.allclose(found, right, rtol=1e-4, atol=1e-5):
        raise Wrong(told + _about_weights(found, weights, gradient, scale, rate))
    grows = good + 1 == interval
    wanted = (2 * scale, 0) if grows else (scale, good + 1)
    if (new_scale, new_good) == wanted:
        return
    raise Wrong(
        f"{told}a scale of {scale:g} should be followed by {wanted[0]:g} with {wanted[1]} good "
        f"steps, and yours says {new_scale:g} with {new_good:g}. "
        + _about_growth(new_scale, new_good, scale, good, grows)
    )


def _about_growth(new_scale: float, new_good: float, scale: float, good: int, grows: bool) -> str:
    if grows and new_scale == 2 * scale:
        return "After growing, the count begins at 0 again."
    if grows:
        return "This was the last of `interval` good steps: good + 1 == interval."
    if new_scale == 2 * scale:
        return "It may grow only when `interval` steps in a row were good."
    if new_scale < scale:
        return "It backs off only where something was not finite."
    return "Count the good steps: return good + 1." if new_good == good else "Count good steps."


def _about_weights(
    found: np.ndarray, weights: np.ndarray, gradient: np.ndarray, scale: float, rate: float
) -> str:
    with np.errstate(over="ignore", invalid="ignore"):
        wide = gradient.astype(np.float32)
        flushed = (wide / np.float32(scale)).astype(np.float16).astype(np.float32)
        usual = {
            "The weights have not changed. A gradient of float16 that is divided in float16 "
            "becomes zero: gradient.astype(np.float32) comes first. Or is the rate missing?": (
                weights
            ),
            "Unscale in float32: gradient.astype(np.float32) / scale": weights - rate * flushed,
            "The gradient is that of the scaled loss: divide it by scale": weights - rate * wide,
            "Go against the gradient: weights - rate * gradient": weights + rate * wide / scale,
            "Divide by the scale instead of multiplying": weights - rate * wide * scale,
        }
        otherwise = "The weights should be weights - rate * gradient / scale, in float32"
        return why(found, usual, otherwise, within(1e-3, 1e-4))


def _judge_overflow(
    stage: ProgramRunner, generator: np.random.Generator, interval: int, bad: float
) -> None:
    weights, gradient, scale, rate = _task(generator)
    gradient[1, 2] = bad
    said = stage.call(weights, gradient, scale, interval - 1, interval, rate)
    found, new_scale, new_good = _three(said, weights)
    told = f"when the gradient holds {'a nan' if math.isnan(bad) else bad}: "
    if not np.isfinite(found).all():
        raise Wrong(f"{told}the weights hold one too, and will for ever. Skip the step.")
    if not np.array_equal(found, weights):
        raise Wrong(f"{told}no weight may change, also not those whose gradient is finite: a part "
                    "of a step goes in a wrong direction.")  # fmt: skip
    if new_scale != scale / 2:
        raise Wrong(f"{told}halve the scale; of {scale:g} you make {new_scale:g}.")
    if new_good:
        raise Wrong(f"{told}good steps in a row are counted from 0 again, not from {new_good:g}.")


def _three(value: Any, weights: np.ndarray) -> tuple[np.ndarray, float, float]:
    """A learner's weights, scale and count, or `Wrong`."""
    wanted = "return three things: weights, scale, good"
    found, scale, good = several(value, 3, wanted)
    array(found, f"{wanted}: the weights are numbers", weights.shape)
    found = np.asarray(found)
    if found.dtype.kind != "f":
        raise Wrong(f"{wanted}: the weights are of type {found.dtype}.")
    finite = (number(one, wanted, finite=False) for one in (scale, good))
    return found, next(finite), next(finite)
