"""Level 0, operators: how far a result is from the reference, where, and at what speed.

Errors are norms of the difference to a reference, in double precision; a map of them shows where
they are, as borders and tiles are where convolutions go wrong. A gradient is checked against
differences: for random t,

    d/dx <t, f(x)>  =  backward(x, t)     ~     (<t, f(x+h)> - <t, f(x-h)>) / 2h

with an error of h^2 from the curvature and of eps/h from rounding, least near h = eps^(1/3).
Ben-Nun et al. 2019 (Deep500), level 0. What to look at: an error that is the same everywhere is
rounding; one in a corner is a bug.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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


def errors(result: Any, expected: Any) -> Errors:
    """How far `result` is from `expected`; NumPy's arrays or torch's tensors."""
    difference = differences(result, expected)
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


def differences(result: Any, expected: Any) -> np.ndarray:
    """|found - expected| in double precision; infinite where only one of them is a number."""
    result, expected = as_array(result), as_array(expected)
    if result.shape != expected.shape:
        raise ValueError(
            f"the result has shape {result.shape}, the reference {expected.shape}: errors are "
            "those of single numbers, nothing is broadcast"
        )
    with np.errstate(invalid="ignore"):
        difference = np.abs(result - expected).astype(float)
    same = (result == expected) | (np.isnan(result) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(difference), np.inf, difference))


def heat_map(result: Any, expected: Any, most: int = 64) -> np.ndarray:
    """The largest difference in each block of a table of at most `most` x `most` blocks.

    The last axis goes across, all others down; an image of several channels has them below each
    other.
    """
    difference = np.atleast_1d(differences(result, expected))
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
    step: float = STEP,
) -> Errors:
    """`backward(x, towards)` against differences of `forward(x)`; right if `relative` is `GOOD`.

    Every number of `x` is moved, so that `worst` names a wrong one. At a kink, as a ReLU's at 0,
    differences are no gradient: random numbers are far from there.
    """
    x = np.asarray(x)
    finite = "" if np.isfinite(x).all() else " and has numbers that are not finite"
    if x.dtype != np.float64 or finite:
        raise TypeError(
            f"check_gradient: x is {x.dtype}{finite}; give finite numbers of float64, and let the "
            "function compute in it: differences in less precision are noise"
        )
    towards = np.random.default_rng(0).standard_normal(np.shape(as_array(forward(x.copy()))))
    gradient = as_array(backward(x.copy(), towards.copy()))
    lost = int((~np.isfinite(gradient)).sum())
    if gradient.shape != x.shape or lost:
        raise ValueError(
            f"the gradient has shape {gradient.shape}, and x {x.shape}; {lost} of its numbers are "
            "not finite"
        )
    scale = step * max(1.0, float(np.abs(x).max(initial=0.0)))
    slopes = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        moved = np.zeros(x.shape)
        moved[place] = scale
        ahead, behind = (as_array(forward(x + sign * moved)) for sign in (1, -1))
        slopes[place] = np.vdot(towards, (ahead - behind) / (2 * scale))
    return errors(gradient, slopes)


def as_array(x: Any) -> np.ndarray:
    """An array in double precision of what may be a tensor, on any device, of any precision."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = x.double() if x.is_floating_point() else x
    x = np.asarray(x)
    return x.astype(np.result_type(x, np.float64), copy=False)
