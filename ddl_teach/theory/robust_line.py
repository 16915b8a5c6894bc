"""A straight line through measured times that few bad measurements cannot bend.

Times should be ``start + nbytes * per_byte``. They span five decades, so the fit weighs each
*relatively*: it makes ``log t - log(start + nbytes * per_byte)`` small. Now and then a time is
late, because another process had the core. Least squares would bend to it; Tukey's bisquare
weights let go of points far outside the others' scatter (Beaton & Tukey 1974).

Intervals come from a studentised wild bootstrap (Wu 1986; Liu 1988): every residual keeps its size
but gets a random sign; the fit is repeated on the times so made. The spread of its errors, each in
units of its own standard error, is the interval. No interval sees an error that all times share,
such as a slow clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.checks import amount, whole_number

FEWEST_SIZES = 4
REJECT_BEYOND = 6.0  # standard deviations from the line at which a point's weight reaches zero
NORMAL_DEVIATION = 1.4826  # standard deviation of a normal distribution over its median |residual|
MAJORITY_ROUNDS = 40
BISQUARE_ROUNDS = 20
LEAST_WEIGHT = 1e-6  # of a rejected point: no pull, yet the equations stay solvable


@dataclass(frozen=True)
class FittedLine:
    """A straight line ``start + nbytes * per_byte`` through measured times, with intervals."""

    start: float
    per_byte: float
    start_interval: tuple[float, float]
    per_byte_interval: tuple[float, float]


def fit_line(
    nbytes: Sequence[float],
    seconds: Sequence[float],
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> FittedLine:
    """The line with the smallest relative residuals, robustly, and its bootstrap intervals."""
    sizes, times = _measurements(nbytes, seconds)
    amount(confidence, "confidence", zero=False, below=1)
    whole_number(resamples, "resamples", 100)
    unit = np.median(sizes[sizes > 0])
    scaled = sizes / unit
    middle, scatter = _majority_line(scaled, times)
    line, error = (rows[0] for rows in _bisquare(scaled, times[None, :], middle, scatter))
    model = line[0] + line[1] * scaled
    # How far each point pulls the line towards itself, and so shrinks its own residual:
    design = np.stack((np.ones_like(scaled), scaled), axis=1) / model[:, None]
    leverage = np.minimum((np.linalg.qr(design)[0] ** 2).sum(axis=1), 0.9)
    residuals = np.log(times / model) / (1 - leverage)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(resamples, len(times)))
    lines, errors = _bisquare(scaled, model * np.exp(signs * residuals), line, scatter)
    tail = (1 - confidence) / 2
    below, above = np.quantile((lines - line) / errors, (tail, 1 - tail), axis=0)
    low, high = np.maximum(line - above * error, 0.0), line - below * error
    return FittedLine(
        start=float(line[0]),
        per_byte=float(line[1] / unit),
        start_interval=(float(low[0]), float(high[0])),
        per_byte_interval=(float(low[1] / unit), float(high[1] / unit)),
    )


def _measurements(
    nbytes: Sequence[float], seconds: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and times as arrays, or an error that says which measurement cannot be used."""
    sizes, times = np.asarray(nbytes, dtype=float), np.asarray(seconds, dtype=float)
    if sizes.ndim != 1 or sizes.shape != times.shape:
        raise ValueError(
            f"need one time for each size: got sizes of shape {sizes.shape} and times of shape "
            f"{times.shape}; repeat a size for each of its repetitions"
        )
    for name, values, wrong, range_text in (
        ("size", sizes, ~np.isfinite(sizes) | (sizes < 0), "0 or more"),
        ("time", times, ~np.isfinite(times) | (times <= 0), "positive"),
    ):
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"measurement {at}: the {name} is {values[at]}, but must be finite and "
                f"{range_text}; drop or repeat that measurement"
            )
    distinct = len(np.unique(sizes))
    if distinct < FEWEST_SIZES:
        raise ValueError(
            f"a line and its scatter need at least {FEWEST_SIZES} different sizes, got "
            f"{distinct}; measure from a few bytes to several megabytes"
        )
    return sizes, times


def _majority_line(sizes: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, float]:
    """The line with the smallest sum of |log residuals|, by weights 1/|residual| (Weiszfeld 1937),
    and the others' scatter around it: it passes through two points, whose zeros say nothing.
    """
    small = sizes <= np.quantile(sizes, 1 / 3)
    large = sizes >= np.quantile(sizes[sizes > 0], 2 / 3)
    line = np.array([np.median(times[small]), np.median(times[large] / sizes[large])])
    for _ in range(MAJORITY_ROUNDS):
        model = line[0] + line[1] * sizes
        residuals = np.log(times / model)
        weights = 1 / np.maximum(np.abs(residuals), 1e-9) / model**2
        line = _weighted_lines(sizes, (model * (1 + residuals))[None, :], weights[None, :])[0]
    distances = np.sort(np.abs(np.log(times / (line[0] + line[1] * sizes))))
    return line, max(NORMAL_DEVIATION * float(np.median(distances[2:])), 1e-12)


def _bisquare(
    sizes: np.ndarray, times: np.ndarray, line: np.ndarray, scatter: float
) -> tuple[np.ndarray, np.ndarray]:
    """For each row of `times` the line with bisquare weights, and its standard errors, which come
    from the residuals themselves (a sandwich).
    """
    lines = np.broadcast_to(line, (len(times), 2))
    for _ in range(BISQUARE_ROUNDS):
        model = lines[:, :1] + lines[:, 1:] * sizes
        residuals = np.log(times / model)
        inside = np.clip(1 - (residuals / (REJECT_BEYOND * scatter)) ** 2, 0, None)
        kept = np.maximum(inside**2, LEAST_WEIGHT)
        lines = _weighted_lines(sizes, model * (1 + residuals), kept / model**2)
    design = np.stack((1 / model, sizes / model), axis=-1)
    inverse = np.linalg.inv(np.einsum("rn,rni,rnj->rij", kept, design, design))
    pull = np.einsum("rn,rni,rnj->rij", (kept * residuals) ** 2, design, design)
    variances = np.einsum("rij,rjk,rki->ri", inverse, pull, inverse)
    return lines, np.maximum(np.sqrt(variances), 1e-12 * lines.max(axis=1, keepdims=True))


def _weighted_lines(sizes: np.ndarray, times: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted least squares for each row of `times`; neither start nor slope may be negative."""
    total, n, nn = weights.sum(1), weights @ sizes, weights @ sizes**2
    t, nt = (weights * times).sum(1), (weights * times) @ sizes
    determinant = total * nn - n * n
    start, slope = (nn * t - n * nt) / determinant, (total * nt - n * t) / determinant
    # Where the best line starts below zero the best allowed one starts at zero; the hair above it
    # keeps the logarithm of a message without bytes finite.
    start, slope = np.where(start < 0, 0.0, start), np.where(start < 0, nt / nn, slope)
    start, slope = np.where(slope < 0, t / total, start), np.where(slope < 0, 0.0, slope)
    return np.stack((np.maximum(start, 1e-9 * np.abs(t / total)), slope), axis=1)
