"""The judge of unit 20's puzzle: an all-reduce on four nodes, one of them behind a slow cable."""

import numpy as np

from ddl_class.exercises.kit import Attempt, texts
from ddl_class.exercises.kit.puzzle import RANKS, times
from ddl_class.exercises.kit.slow_cable import SLOW_CABLE
from ddl_class.exercises.kit.sums import Parts
from ddl_class.exercises.unit_06 import judges as whole

(CABLE,) = texts(__package__, "cable")
GOAL = 12e-3  # seconds; by parts it takes 16 ms, and a ring of all ranks 19.7


def judge_cable(attempt: Attempt) -> None:
    """The sum on all ranks, by any algorithm, and sooner than by parts."""
    outcome = whole.summed_on_nodes(attempt, SLOW_CABLE, CABLE("partners"), _explain)
    CABLE.refuse_if(times(outcome, GOAL), too_slow=outcome.time > GOAL)
    attempt.note(outcome.time)


def _explain(parts: Parts, counted: np.ndarray) -> str:
    node = np.array([SLOW_CABLE.node(rank) for rank in range(RANKS)])
    last = node == node.max()
    return CABLE.first(
        without_last=(counted[~last][:, :, last] == 0).all(),
        last_without=(counted[last][:, :, ~last] == 0).all(),
        twice=counted.max() > 1,
        no_sum=True,
    )
