"""Level 0, operators: how far a result is from the reference, where, and at what speed.

Errors are norms of the difference to a reference, in double precision; a map of them shows where
they are, as borders and tiles are where convolutions go wrong. A gradient is checked against
differences: for random t,

    d/dx <t, f(x)>  =  backward(x, t)     ~     (<t, f(x+h)> - <t, f(x-h)>) / 2h

with an error of h^2 from the curvature and of eps/h from rounding, least near h = eps^(1/3).
Ben-Nun et al. 2019 (Deep500), level 0. What to look at: an error that is the same everywhere is
rounding; one in a corner is a bug.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_measure.interval import Summary, summarise
from ddl_measure.repetitions import side_by_side
from ddl_measure.reports.report import Series

STEP = float(np.finfo(float).eps ** (1 / 3))
GOOD = 1e-6  # relative error of a right gradient in double precision, with room


@dataclass(frozen=True)
class Errors:
    """Norms of a difference: sum, root of squares, largest; `relative` to the reference's root.

    `worst` is where the largest is; `not_finite` how many numbers are infinite or none at all,
    which are infinitely wrong unless the reference has the same there.
    """

    l1: float
    l2: float
    largest: float
    relative: float
    worst: tuple[int, ...]
    not_finite: int


@dataclass(frozen=True)
class Candidate:
    """One of several that do the same: its errors, its times, and if it gives the same twice."""

    errors: Errors
    times: Summary
    repeats: bool

    def series(self, ground: str = "measured") -> tuple[Series, ...]:
        values = self.times.times
        return (
            Series(
                "seconds", "a call", "s", values, len(values), ground, False, includes=("call",)
            ),
            Series("error", "a call", "1", (self.errors.relative,), 1, ground, self.repeats),
        )


def compare(
    candidates: Mapping[str, Callable[..., Any]],
    reference: Callable[..., Any],
    *inputs: Any,
    repetitions: int = 11,
) -> dict[str, Candidate]:
    """Call all of them with the same inputs, in turns, and hold them against the reference.

    Whoever writes into the inputs is refused: all others would get what is left.
    """
    expected, before = as_array(reference(*inputs)), [as_array(x).copy() for x in inputs]
    calls = {name: (lambda call=call: call(*inputs)) for name, call in candidates.items()}
    results = {}
    for name, call in calls.items():
        results[name] = as_array(call()).copy(), as_array(call()).copy()
        for place, (x, old) in enumerate(zip(inputs, before, strict=True)):
            if not np.array_equal(as_array(x), old, equal_nan=True):
                raise ValueError(
                    f"{name} has changed its input {place}, and all others get the same one: "
                    "let it work on a copy"
                )
    seconds = side_by_side(calls, repetitions=repetitions)
    return {
        name: Candidate(
            errors(first, expected),
            summarise(seconds[name]),
            np.array_equal(first, second, equal_nan=True),
        )
        for name, (first, second) in results.items()
    }


def errors(found: Any, expected: Any) -> Errors:
    """How far `found` is from `expected`; NumPy's arrays or torch's tensors."""
    difference = differences(found, expected)
    wrong = ~np.isfinite(difference)
    norm = np.linalg.norm(as_array(expected))
    root, largest = np.linalg.norm(difference), difference.max(initial=0.0)
    worst = np.unravel_index(difference.argmax(), difference.shape) if difference.size else ()
    return Errors(
        float(difference.sum()),
        float(root),
        float(largest),
        float(root / norm) if norm else float(root and np.inf),
        tuple(int(place) for place in worst),
        int(wrong.sum()),
    )


def differences(found: Any, expected: Any) -> np.ndarray:
    """|found - expected| in double precision; infinite where only one of them is a number."""
    found, expected = as_array(found), as_array(expected)
    if found.shape != expected.shape:
        raise ValueError(
            f"the result has shape {found.shape}, the reference {expected.shape}: errors are "
            "those of single numbers, nothing is broadcast"
        )
    with np.errstate(invalid="ignore"):
        difference = np.abs(found - expected).astype(float)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(difference), np.inf, difference))


def heat_map(found: Any, expected: Any, most: int = 64) -> np.ndarray:
    """The largest difference in each block of a table of at most `most` x `most` blocks.

    The last axis goes across, all others down; an image of several channels has them below each
    other.
    """
    difference = np.atleast_1d(differences(found, expected))
    table = difference.reshape(-1, difference.shape[-1])
    for axis in (0, 1):
        if table.shape[axis] > most:
            edges = np.linspace(0, table.shape[axis], most, endpoint=False).astype(int)
            table = np.maximum.reduceat(table, edges, axis=axis)
    return table


def check_gradient(
    forward: Callable[[np.ndarray], Any],
    backward: Callable[[np.ndarray, np.ndarray], Any],
    x: np.ndarray,
    *,
    directions: int | None = None,
    step: float = STEP,
    seed: int = 0,
) -> Errors:
    """`backward(x, towards)` against differences of `forward(x)`; right if `relative` is `GOOD`.

    Every number of `x` is moved, so that `worst` names a wrong one; or only so many random
    `directions` are gone, of which already one meets any error. At a kink, as a ReLU's at 0,
    differences are no gradient: random numbers are far from there.
    """
    x = np.asarray(x)
    if x.dtype != np.float64 or not np.isfinite(x).all():
        raise TypeError(
            f"check_gradient: x is {x.dtype}"
            + ("" if np.isfinite(x).all() else " and has numbers that are not finite")
            + "; give finite numbers of float64, and let the function compute in it: differences "
            "in less precision are noise"
        )
    random = np.random.default_rng(seed)
    towards = random.standard_normal(np.shape(as_array(forward(x.copy()))))
    gradient = as_array(backward(x.copy(), towards.copy()))
    lost = int((~np.isfinite(gradient)).sum())
    if gradient.shape != x.shape or lost:
        raise ValueError(
            f"the gradient has shape {gradient.shape}, and x {x.shape}; {lost} of its numbers are "
            "not finite"
        )
    scale = step * max(1.0, float(np.abs(x).max(initial=0.0)))

    def slope(way: np.ndarray) -> float:
        one, other = (as_array(forward(x + sign * scale * way)) for sign in (1, -1))
        return float(np.vdot(towards, (one - other) / (2 * scale)))

    if directions is None:
        found = np.empty(x.size)
        for place in range(x.size):
            way = np.zeros(x.size)
            way[place] = 1
            found[place] = slope(way.reshape(x.shape))
        return errors(gradient, found.reshape(x.shape))
    ways = random.standard_normal((directions, *x.shape))
    return errors(
        np.array([np.vdot(way, gradient) for way in ways]), np.array([slope(way) for way in ways])
    )


def as_array(x: Any) -> np.ndarray:
    """An array in double precision of what may be a tensor, on any device, of any precision."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = x.double() if x.is_floating_point() else x
    x = np.asarray(x)
    return x.astype(np.result_type(x, np.float64), copy=False)
