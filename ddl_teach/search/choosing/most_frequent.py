"""Always the most frequent winner: what a learner must beat to have learnt anything.

Where one way nearly always wins, this is right nearly always, and then 90% is no success.
What to look at: its regret, beside that of all others.
"""

import numpy as np

from ddl_teach.search.choosing.points import Chooser, Points


def most_frequent(points: Points) -> Chooser:
    """Choices by how often they won, whatever is asked; the next where one is not allowed."""
    wins = np.bincount(points.winners, minlength=len(points.choices))
    return lambda asked: np.tile(-wins.astype(float), (len(asked), 1))
