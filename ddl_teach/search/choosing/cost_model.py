"""A cost model as a chooser: counts times constants, the constants measured apart or fitted.

    time = sum over kinds of  count of the kind  x  seconds of one

Messages, bytes sent and bytes combined of an all-reduce; operations, bytes and calls of a
convolution. Fitted to points, the constants minimise

    sum of (log(counts @ constants) - log(seconds))^2,    constants > 0,

so that twice as long is as bad as half as long, and short times count as much as long ones.
Levenberg 1944; Marquardt 1963. What to look at: the structure is not learnt but known; so a model
can be asked about sizes that are far from all points. It cannot know what its counts leave out.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

from ddl_teach.search.choosing.points import Chooser, Learner, Points

Counts = Callable[[Points], np.ndarray]
"""`counts(points)[point, choice, kind]`, from the questions alone."""


def constants(points: Points, counts: Counts) -> np.ndarray:
    """The seconds of one of each kind that explain the points best; 0 of what never occurs."""
    table, seconds = counts(points), points.medians
    known = np.isfinite(seconds) & table.any(axis=2)  # one rank alone sends nothing
    table, seconds = table[known], seconds[known]
    kinds = table.any(axis=0)
    # Begin where each kind alone would explain its share of a typical time.
    alone = [np.median(seconds[of > 0] / of[of > 0]) for of in table[:, kinds].T]
    begin = np.log(np.array(alone) / kinds.sum())

    def errors(logarithms: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(table[:, kinds] @ np.exp(logarithms)) - np.log(seconds))

    fitted = np.zeros(len(kinds))
    fitted[kinds] = np.exp(least_squares(errors, begin).x)
    return fitted


def fitted(counts: Counts) -> Learner:
    """A learner that fits the constants to its points."""

    def learn(points: Points) -> Chooser:
        fitted = constants(points, counts)
        return lambda asked: counts(asked) @ fitted

    return learn
