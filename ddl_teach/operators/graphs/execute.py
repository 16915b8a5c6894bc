"""A graph of real tasks on real threads, greedily: the schedule that a computer makes itself.

Each thread takes a ready task, does it, and looks for the next one: so the greedy scheduler's
bounds should hold, with the tasks' measured durations. What to look at: what bounds do not know. A
thread needs microseconds to find a task, threads share memory, and beyond the cores take turns.
"""

import heapq
import threading
import time
from collections.abc import Callable, Sequence
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from ddl_teach.operators.graphs.schedule import OperationSchedule, Predecessors, finished
from ddl_teach.theory.inputs import count


def run_on_threads(
    predecessors: Predecessors, tasks: Sequence[Callable[[], Any]], threads: int
) -> OperationSchedule:
    """Call every task after those it waits for; the schedule, in seconds, as it came out. Plain
    Python loops hold Python's lock and take turns; NumPy and torch give it away. A torch task
    should begin with torch.set_num_threads(1), which counts for the thread that says it. If a task
    raises, the others end and it is raised here."""
    if len(tasks) != len(predecessors):
        raise ValueError(f"tasks: {len(tasks)} for {len(predecessors)} operations; give one each")
    count("threads", threads)
    finished(predecessors)  # refuses cycles, which would never end
    sorter = TopologicalSorter(dict(enumerate(predecessors)))
    sorter.prepare()
    ready, changed = [*sorter.get_ready()], threading.Condition()
    heapq.heapify(ready)
    start, end = np.zeros(len(tasks)), np.zeros(len(tasks))
    thread, failures = np.zeros(len(tasks), int), list[BaseException]()

    def take() -> int | None:
        with changed:
            changed.wait_for(lambda: ready or failures or not sorter.is_active())
            return heapq.heappop(ready) if ready and not failures else None

    def work(number: int) -> None:
        while (node := take()) is not None:
            thread[node], start[node] = number, time.perf_counter()
            try:
                tasks[node]()
            except BaseException as error:
                failures.append(error)
            end[node] = time.perf_counter()
            with changed:
                sorter.done(node)
                for freed in sorter.get_ready():
                    heapq.heappush(ready, freed)
                changed.notify_all()

    begun = time.perf_counter()
    crew = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for member in crew:
        member.start()
    for member in crew:
        member.join()
    if failures:
        raise failures[0]
    return OperationSchedule(start - begun, end - start, thread, threads)
