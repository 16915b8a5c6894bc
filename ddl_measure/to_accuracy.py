"""Time AND epochs to an accuracy on data held out: what a faster step is for.

Throughput counts samples, whatever is learnt from them; a larger batch has more of it and learns
less from each. Time to accuracy is epochs to accuracy times seconds of an epoch, and one needs
both to see which of the two changed (Coleman et al. 2017; Mattson et al. 2020).
What to look at: an accuracy that is looked at often crosses the target once by luck; ask for
several in a row. A training that never came there has taken infinitely long, and counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Evaluation:
    """One look at the data held out, and the steps, epochs and seconds of training before it.

    `evaluating` are the seconds that all looks so far have taken, which are not in `seconds`.
    """

    step: int
    epochs: float
    seconds: float
    evaluating: float
    accuracy: float


def reached(
    checkpoints: Sequence[Evaluation], target: float, in_a_row: int = 1
) -> Evaluation | None:
    """The first evaluation that, with those after it, makes `in_a_row` evaluations at the target
    accuracy or above; None if no row is so long."""
    if not 0 < target <= 1 or in_a_row < 1:
        raise ValueError(
            f"target={target} is a share of right answers, above 0 and up to 1, and "
            f"in_a_row={in_a_row} at least 1"
        )
    good = 0
    for place, checkpoint in enumerate(checkpoints):
        good = good + 1 if checkpoint.accuracy >= target else 0
        if good == in_a_row:
            return checkpoints[place - in_a_row + 1]
    return None
