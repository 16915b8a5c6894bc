"""The straight line between two networks: is there a hill on it?

    w(a) = (1 - a) w0 + a w1,        barrier = max over a of  loss(w(a)) - ((1 - a) l0 + a l1)

Two points of one valley have no hill between them. Two networks that were trained apart have one,
even where they compute the same function, with hidden units numbered differently. Frankle,
Dziugaite, Roy and Carbin, "Linear mode connectivity and the lottery ticket hypothesis", ICML 2020;
Ainsworth et al., "Git Re-Basin", ICLR 2023, for the barrier of losses. What to look at: the
middle, a = 1/2, is the average of the two.
"""

from collections.abc import Callable

import numpy as np

from ddl_runtime.core.checks import whole_number


def along(
    start: np.ndarray, other: np.ndarray, loss: Callable[[np.ndarray], float], points: int = 11
) -> tuple[np.ndarray, np.ndarray]:
    """Where on the line, from 0 to 1, and the loss there."""
    whole_number(points, "points, one between the two ends among them,", 3)
    if start.shape != other.shape:
        raise ValueError(
            f"no line between weights of shapes {start.shape} and {other.shape}: both networks "
            "must be of the same architecture"
        )
    places = np.linspace(0, 1, points)
    return places, np.array([loss((1 - place) * start + place * other) for place in places])


def barrier(places: np.ndarray, losses: np.ndarray) -> float:
    """How high the hill is above the straight line between the losses of both ends."""
    return float(np.max(losses - ((1 - places) * losses[0] + places * losses[-1])))
