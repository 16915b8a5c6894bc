"""The greedy scheduler: whenever a processor is free and an operation is ready, it is done.

An operation is ready when all that it needs is done. With total work W, longest chain D and p
processors, a greedy schedule takes the ready ones in any order. It ends at a time T with

    max(W / p, D)  <=  T  <=  (W - D) / p + D,

because while a processor idles, every longest chain that is left gets shorter; so it takes at most
(2 - 1/p) times as long as the shortest schedule, which is NP-complete to find (Ullman, 1975). What
to look at: T against both bounds over p, and the idle time where the graph is narrow. (Graham,
"Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17(2), 1969; Brent, JACM 21(2),
1974.)
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np

from ddl_teach.theory.inputs import count

Predecessors = Sequence[Sequence[int]]
"""For each operation the numbers of those that it waits for."""


@dataclass(frozen=True)
class OperationSchedule:
    """When and on which processor each operation runs; in the order of the graph's lists."""

    start: np.ndarray
    duration: np.ndarray
    processor: np.ndarray
    processors: int

    @property
    def makespan(self) -> float:
        return float((self.start + self.duration).max(initial=0.0))

    @property
    def idle(self) -> float:
        """The share of all processors' time in which they do nothing."""
        room = self.makespan * self.processors
        return 1 - float(self.duration.sum()) / room if room else 0.0


def greedy(
    predecessors: Predecessors, processors: int, durations: Sequence[float] | None = None
) -> OperationSchedule:
    """Schedule a graph; operations take one step each, or their `durations`. Of several that are
    ready the one with the lowest number goes first.
    """
    finished(predecessors, durations)  # refuses cycles, which would never end
    operations, waiting = len(predecessors), [len(before) for before in predecessors]
    lengths, following = _lengths(operations, durations), followers(predecessors)
    start, processor = [0.0] * operations, [0] * operations
    # Ascending, and so a heap.
    ready = [operation for operation in range(operations) if not waiting[operation]]
    idle, busy, now = list(range(count("processors", processors))), list[tuple[float, int]](), 0.0
    while ready or busy:
        while ready and idle:
            operation = heapq.heappop(ready)
            start[operation], processor[operation] = now, heapq.heappop(idle)
            heapq.heappush(busy, (now + lengths[operation], operation))
        now = busy[0][0]
        while busy and busy[0][0] == now:
            _, done = heapq.heappop(busy)
            heapq.heappush(idle, processor[done])
            for operation in following[done]:
                waiting[operation] -= 1
                if not waiting[operation]:
                    heapq.heappush(ready, operation)
    return OperationSchedule(
        np.array(start), np.array(lengths), np.array(processor, int), processors
    )


def finished(predecessors: Predecessors, durations: Sequence[float] | None = None) -> np.ndarray:
    """When each operation is done where none ever waits for a processor; the last time is D."""
    lengths, done = _lengths(len(predecessors), durations), np.zeros(len(predecessors))
    followers(predecessors)  # refuses operations that do not exist
    try:
        for operation in TopologicalSorter(dict(enumerate(predecessors))).static_order():
            begins = max((done[other] for other in predecessors[operation]), default=0)
            done[operation] = begins + lengths[operation]
    except CycleError as error:
        waits = f"operation {min(error.args[1])} waits for itself, directly or through others"
        raise ValueError(f"predecessors: {waits}, so it can never begin") from None
    return done


def followers(predecessors: Predecessors) -> list[list[int]]:
    """The arrows turned round: for each operation those that wait for it."""
    after: list[list[int]] = [[] for _ in predecessors]
    for operation, before in enumerate(predecessors):
        for other in before:
            if not 0 <= other < len(after):
                only = f"there are only operations 0 to {len(after) - 1}"
                raise ValueError(
                    f"predecessors: operation {operation} waits for {other}, but {only}"
                )
            after[other].append(operation)
    return after


def _lengths(operations: int, durations: Sequence[float] | None) -> list[float]:
    lengths = np.ones(operations) if durations is None else np.asarray(durations, float)
    if lengths.shape != (operations,):
        raise ValueError(f"durations: {lengths.size} for {operations} operations; give one each")
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError("durations: every operation takes a finite time above zero")
    return lengths.tolist()
