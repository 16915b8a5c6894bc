"""The time of many ranks: that of the slowest, in each repetition.

A parallel step is over when its last rank has ended it; who was last changes from one repetition
to the next, so the largest is taken in each of them, and only then a median (Hoefler and Belli
2015, rule 10). Ranks must have begun together: a barrier goes before each repetition.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ddl_measure.repetitions import Name, side_by_side
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm


def slowest_of_all(comm: Comm, seconds: np.ndarray) -> np.ndarray:
    """For each repetition the time of the slowest rank, on every rank; `seconds` stays."""
    slow = seconds.copy()
    ring.allreduce(comm, slow, "max")
    return slow


def slowest_in_turns(
    comm: Comm, ways: Mapping[Name, Callable[[], object]], turns: int,
    before: Callable[[], object] | None = None,
) -> dict[Name, np.ndarray]:  # fmt: skip
    """The slowest rank's seconds of what all ranks do together, way by way and turn by turn."""
    times = side_by_side(ways, repetitions=turns, before=before or comm.barrier, clock=comm.now)
    return {name: slowest_of_all(comm, seconds) for name, seconds in times.items()}
