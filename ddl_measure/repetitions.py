"""Several ways of doing one thing, measured side by side, by one process or by many ranks.

A machine is never twice the same: its clock rate, caches and other users change from minute to
minute. Contestants that take turns share each disturbance, and an order that rotates both ways
gives none of them the warm seat; then the *ratio* of two medians means something even where the
times do not. A parallel step is over when its last rank has ended it; which rank is last changes
from one repetition to the next, so the largest is taken in each of them, and only then a median
(Hoefler and Belli 2015, rule 10). Ranks must have begun together: a barrier goes before each
repetition.
What to look at: run the same function under two names, and see how far the ratio is from one.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm

Name = TypeVar("Name")


def side_by_side(
    contestants: Mapping[Name, Callable[[], Any]],
    *,
    repetitions: int = 11,
    warm_up: int = 1,
    before: Callable[[], Any] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[Name, np.ndarray]:
    """The seconds of each of `repetitions` calls, by name; `interval` makes a median of them.

    Every contestant is called `warm_up` times before anything counts. `before()` goes before every
    call and is not timed: a barrier, for what all ranks do together. The `clock` may be another:
    `comm.now` is the time of simulated ranks too, `time.process_time` leaves out what other
    programs take.
    """
    if repetitions < 1:
        raise ValueError(f"repetitions={repetitions}: a median needs at least one measured call")
    names = list(contestants)
    for name in names * warm_up:
        before()
        contestants[name]()
    seconds = {name: np.empty(repetitions) for name in names}
    for turn in range(repetitions):
        for seat in range(len(names)):
            name = names[(turn + seat * (-1) ** turn) % len(names)]
            before()
            begun = clock()
            contestants[name]()
            seconds[name][turn] = clock() - begun
    return seconds


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


def own_turns(
    comm: Comm, ways: Iterable[Callable[[], object]], turns: int,
    before: Callable[[], object] | None = None,
) -> np.ndarray:  # fmt: skip
    """This rank's own seconds of the same, from the first call on: turn, way."""
    times = side_by_side(
        dict(enumerate(ways)), repetitions=turns, warm_up=0, before=before or comm.barrier,
        clock=comm.now,
    )  # fmt: skip
    return np.stack([*times.values()], axis=1)
