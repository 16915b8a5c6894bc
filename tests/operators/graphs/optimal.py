"""The shortest schedule of a tiny graph, found by trying everything.

It walks through all sets of operations that can be done after 1, 2, 3, ... steps, up to 2^n.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ddl_teach.operators.graphs.schedule import Predecessors, finished
from ddl_teach.theory.inputs import count

MOST = 14


def fewest_steps(predecessors: Predecessors, processors: int) -> int:
    """How many steps the best schedule of unit operations takes."""
    count("processors", processors)
    operations = len(predecessors)
    if operations > MOST:
        raise ValueError(
            f"predecessors: {operations} operations have up to 2^{operations} sets to look at; "
            f"{MOST} are the most that this tries. Take `greedy`, or the bounds"
        )
    finished(predecessors)  # refuses cycles
    before = [sum(1 << other for other in set(group)) for group in predecessors]
    reached, steps = {0}, 0
    while (1 << operations) - 1 not in reached:
        reached = {after for done in reached for after in _next(done, before, processors)}
        steps += 1
    return steps


def _next(done: int, before: list[int], processors: int) -> Iterator[int]:
    """What can be done after one step more; to leave a processor idle is never better."""
    ready = [
        one for one, needed in enumerate(before) if not done >> one & 1 and needed & ~done == 0
    ]
    for chosen in combinations(ready, min(processors, len(ready))):
        yield done | sum(1 << one for one in chosen)
