"""How long each event took, by name.

    with events("forward"): ...

What to look at: an event costs two looks at the clock and an entry in a list
(benchmarks/harness.py).
"""

import time
from collections import defaultdict
from collections.abc import Callable


class Events:
    """`seconds` of all events, by name, in the order in which they ended."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def __call__(self, name: str) -> "_Event":
        return _Event(self, name)


class _Event:
    """One event. A class with slots: a generator would cost twice as much."""

    __slots__ = ("begun", "events", "name")

    def __init__(self, events: Events, name: str) -> None:
        self.events, self.name = events, name

    def __enter__(self) -> None:
        self.begun = self.events.clock()

    def __exit__(self, *_: object) -> None:
        self.events.seconds[self.name].append(self.events.clock() - self.begun)
