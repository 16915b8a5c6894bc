"""Rules by which vectors are combined of which some are lies.

A rule is a function of rows, one for each worker; of how many liars are expected; and of the last
result. `plain.robust_aggregation` has each on a few lines, with its source. Karimireddy, He and
Jaggi 2021 clip at a radius that one tunes; here it is the median distance from the last result.
"""

from collections.abc import Callable

import numpy as np

Rule = Callable[[np.ndarray, int, np.ndarray], np.ndarray]


def krum(rows: np.ndarray, liars: int, before: np.ndarray) -> np.ndarray:
    """The row whose P - liars - 2 nearest others are nearest."""
    apart = np.square(rows[:, None] - rows).sum(axis=2)
    nearest = np.sort(apart, axis=1)[:, 1 : max(2, len(rows) - liars - 1)]
    return np.asarray(rows[nearest.sum(axis=1).argmin()])


def centred_clipping(rows: np.ndarray, liars: int, before: np.ndarray) -> np.ndarray:
    """The mean of what each adds to the last result, none of it longer than the median."""
    for _ in range(3):
        away = rows - before
        far = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-30)
        before = before + (away * np.minimum(1, np.median(far) / far)).mean(axis=0)
    return before.astype(rows.dtype)


RULES: dict[str, Rule] = {
    "mean": lambda rows, liars, before: rows.mean(axis=0),
    "median": lambda rows, liars, before: np.median(rows, axis=0),
    "trimmed mean": lambda rows, liars, before: np.sort(rows, axis=0)[
        liars : len(rows) - liars
    ].mean(axis=0),
    "Krum": krum,
    "centred clipping": centred_clipping,
}
