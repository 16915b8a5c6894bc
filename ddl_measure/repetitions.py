"""Several ways of doing one thing, measured side by side.

A machine is never twice the same: its clock rate, its caches, its other users change from minute
to minute. Contestants that take turns share each disturbance, and a rotating order gives none of
them the warm seat; then the *ratio* of two medians means something even where the times do not.
What to look at: run the same function under two names, and see how far the ratio is from one.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

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
    `comm.now` tells the time of simulated ranks too, `time.process_time` leaves out what other
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
        first = turn % max(1, len(names))
        for name in names[first:] + names[:first]:
            before()
            begun = clock()
            contestants[name]()
            seconds[name][turn] = clock() - begun
    return seconds
