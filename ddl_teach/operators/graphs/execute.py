"""A graph of real tasks on real threads, greedily: the schedule that a computer makes itself.

Each thread takes a ready task, does it, and looks for the next one; nobody plans. That is what
the greedy scheduler describes, so its bounds should hold, with the tasks' own measured durations.
What to look at: what the bounds do not know. A thread needs some microseconds to find its next
task, two threads share one memory, and threads beyond the cores only take turns.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_teach.operators.graphs.schedule import (
    OperationSchedule,
    Predecessors,
    finished,
    followers,
)
from ddl_teach.theory.inputs import count


def run_on_threads(
    predecessors: Predecessors, tasks: Sequence[Callable[[], Any]], threads: int
) -> OperationSchedule:
    """Call every task after those it waits for; the schedule, in seconds, as it came out.

    Tasks that hold Python's lock, such as plain Python loops, take turns whatever the number of
    threads; those of NumPy and torch give it away. Torch brings threads of its own: a task should
    begin with torch.set_num_threads(1), which counts for the thread that says it. If a task
    raises, the others end and it is raised here.
    """
    if len(tasks) != len(predecessors):
        raise ValueError(f"tasks: {len(tasks)} for {len(predecessors)} operations; give one each")
    count("threads", threads)
    finished(predecessors)  # refuses cycles, which would never end
    work = _Work(predecessors, tasks)
    crew = [threading.Thread(target=work.do, args=(number,)) for number in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    if work.failure is not None:
        raise work.failure
    return OperationSchedule(work.start - work.begun, work.end - work.start, work.thread, threads)


class _Work:
    """What the threads share: which tasks are ready, which are done."""

    def __init__(self, predecessors: Predecessors, tasks: Sequence[Callable[[], Any]]) -> None:
        self._tasks, self._left = tasks, len(tasks)
        self._waiting = [len(before) for before in predecessors]
        self._followers = followers(predecessors)
        self._ready = [one for one, many in enumerate(self._waiting) if not many]
        self._changed = threading.Condition()
        self.failure: BaseException | None = None
        self.start, self.end = np.zeros(len(tasks)), np.zeros(len(tasks))
        self.thread = np.zeros(len(tasks), int)
        self.begun = time.perf_counter()

    def do(self, number: int) -> None:
        """One thread's life: until no task is left, or one has failed."""
        while (one := self._take()) is not None:
            self.thread[one], self.start[one] = number, time.perf_counter()
            try:
                self._tasks[one]()
            except BaseException as error:
                self.failure = self.failure or error
            self.end[one] = time.perf_counter()
            self._hand_back(one)

    def _take(self) -> int | None:
        with self._changed:
            while not self._ready and self._left and self.failure is None:
                self._changed.wait()
            usable = self._ready and self.failure is None
            return heapq.heappop(self._ready) if usable else None

    def _hand_back(self, done: int) -> None:
        with self._changed:
            self._left -= 1
            for one in self._followers[done]:
                self._waiting[one] -= 1
                if not self._waiting[one]:
                    heapq.heappush(self._ready, one)
            self._changed.notify_all()
