"""A cost model as a chooser: counts times constants, the constants measured apart or fitted.

    time = sum over kinds of  count of the kind  x  seconds of one

Messages, bytes sent and bytes combined of an all-reduce; operations, bytes and calls of a
convolution. Fitted to points, the constants minimise the *relative* errors of all times,

    sum of (counts @ constants / seconds - 1)^2,    constants >= 0    (Lawson and Hanson, 1974),

so the short times count as much as the long ones. Three or four numbers is all that is learnt.
What to look at: the structure is not learnt but known; so a model can be asked about sizes, ranks
and shapes that are far from all points. It cannot know what its counts leave out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls

from ddl_teach.search.choosing.points import Chooser, Learner, Points

Counts = Callable[[Points], np.ndarray]
"""`counts(points)[point, choice, kind]`, from the questions alone."""


def constants(points: Points, counts: Counts) -> np.ndarray:
    """The seconds of one of each kind that explain the points best."""
    known = np.isfinite(points.medians)
    relative = counts(points)[known] / points.medians[known][:, None]
    # Columns of one size: bytes are many and messages few.
    sizes = np.linalg.norm(relative, axis=0)
    sizes[sizes == 0] = 1.0
    return nnls(relative / sizes, np.ones(len(relative)))[0] / sizes


def fitted(counts: Counts) -> Learner:
    """A learner that fits the constants to its points."""

    def learn(points: Points) -> Chooser:
        found = constants(points, counts)
        return lambda asked: counts(asked) @ found

    return learn
