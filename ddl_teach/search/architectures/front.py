"""The Pareto front: what can be the best, whatever one price is worth of another.

Point a *dominates* b if it is nowhere worse and somewhere better. Dominated points can be left
out; between the others only a price decides. Any number of prices, and n points cost n^2
comparisons; two prices alone need one sort, as `operators.divided_batches.front` does.
What to look at: with each further price more of the points are on the front. With five, hardly
anything is left to choose by.
"""

import numpy as np


def undominated(points: np.ndarray) -> np.ndarray:
    """The numbers of the rows that no other row dominates, ascending. In every column a smaller
    number is better. Of equal rows the first is kept."""
    points = np.asarray(points, float)
    if points.ndim != 2 or np.isnan(points).any():
        raise ValueError(
            "undominated: points are rows of numbers, one column for each price; a nan cannot be "
            "compared, so leave crashed trials out"
        )
    # In row a and column b: whether b is nowhere worse than a.
    nowhere_worse: np.ndarray = np.all(points[None] <= points[:, None], axis=2)
    equal = nowhere_worse & nowhere_worse.T
    beaten = np.any(nowhere_worse & ~equal | np.tril(equal, -1), axis=1)
    return np.flatnonzero(~beaten)
