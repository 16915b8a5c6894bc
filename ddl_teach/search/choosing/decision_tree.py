"""A decision tree: ask whether a number is above a threshold, again and again, then answer.

A leaf holds the mean of log(time / best time) of every choice over the points that fell into it;
the least is taken. So a mistake weighs what it costs, and a near tie nearly nothing. Thresholds
are chosen greedily to leave the least squared error. Breiman, Friedman, Olshen and Stone,
"Classification and regression trees", 1984.
What to look at: a tree is constant between its points and beyond them. About sizes larger than all
it has seen it says what it said of the largest.
"""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from ddl_teach.search.choosing.points import Chooser, Points, log_slowdowns, logarithms

LEAF = 2  # the fewest points that a leaf is believed with


def decision_tree(points: Points) -> Chooser:
    """Grow a tree on the points."""
    costs = log_slowdowns(points)
    # What is not allowed is never taken. As bad as it is on the average, it attracts no threshold.
    allowed = np.isfinite(costs)
    usual = np.where(allowed, costs, 0).sum(axis=0) / np.maximum(allowed.sum(axis=0), 1)
    costs = np.where(allowed, costs, usual)
    grown = DecisionTreeRegressor(min_samples_leaf=LEAF, random_state=0)
    grown.fit(logarithms(points), costs)
    return lambda asked: grown.predict(logarithms(asked)).reshape(len(asked), -1)
