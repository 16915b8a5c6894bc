"""The judge of unit 20's puzzle: an all-reduce on four nodes, one of them behind a slow cable."""

import numpy as np

from ddl_class.exercises.exercise import Attempt
from ddl_class.exercises.kit import ranks, sums
from ddl_class.exercises.kit.puzzle import LENGTH, RANKS, times
from ddl_class.exercises.kit.slow_cable import SLOW_CABLE
from ddl_class.exercises.kit.sums import Parts
from ddl_class.exercises.kit.texts import texts
from ddl_class.exercises.unit_06 import judges as whole

(CABLE,) = texts(__package__, "cable")
GOAL = 12e-3  # seconds; by parts it takes 16 ms, and a ring of all ranks 19.7


def judge_cable(attempt: Attempt) -> None:
    """The sum on all ranks, by any algorithm, and sooner than by parts."""
    for length in (1003, LENGTH):
        pattern = attempt.generator.integers(1, 32, length).astype(float)
        parts = sums.Parts(RANKS, pattern)
        given = [(vector,) for vector in parts.vectors]
        causes = ranks.general(CABLE("partners"))
        outcome = ranks.run(attempt, RANKS, given, parts.setting, causes, SLOW_CABLE)
        sums.compare(parts, outcome, _explain)
        whole.refuse_native(outcome)
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
