"""The Pareto front: what can be the best, whatever one price is worth of another.

Point a *dominates* b if it is nowhere worse and somewhere better. Who is dominated can be
forgotten by everybody; between the others only a price decides. Any number of prices, and n points
cost n^2 comparisons; two prices alone need one sort, as `operators.micro_batches.front` does.
What to look at: with each further price more of the points are on the front. With five, hardly
anything is left to choose by.
"""

import numpy as np


def undominated(points: np.ndarray) -> np.ndarray:
    """The places of rows that no other row dominates; all columns should be small.

    Of equal rows the first is kept.
    """
    points = np.asarray(points, float)
    if points.ndim != 2 or np.isnan(points).any():
        raise ValueError(
            "undominated: points are rows of numbers, one column for each price; a nan cannot be "
            "compared, so leave crashed trials out"
        )
    return np.array([place for place in range(len(points)) if not _beaten(points, place)], int)


def _beaten(points: np.ndarray, place: int) -> bool:
    nowhere_worse = (points <= points[place]).all(axis=1)
    somewhere_better = (points < points[place]).any(axis=1)
    equals_before = nowhere_worse[:place] & ~somewhere_better[:place]
    return bool((nowhere_worse & somewhere_better).any() or equals_before.any())
