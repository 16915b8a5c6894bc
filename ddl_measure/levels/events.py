"""Events: what began and ended when, and listeners that are told as it happens.

    with events("forward"): ...

A listener is a function of (name, "begin" or "end", seconds); one that raises `StopMeasuring` ends
the training. All that happened is a timeline of one rank afterwards. What to look at: an event
costs two looks at the clock and an entry in a list (benchmarks/harness.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ddl_runtime.records.timeline import Timeline

Listener = Callable[[str, str, float], None]


class StopMeasuring(Exception):
    """Raised by a listener to end what is measured, for a reason that is its text."""


class Events:
    """Spans of what happened, and who listens to them."""

    def __init__(
        self, *listeners: Listener, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.spans: list[tuple] = []
        self._totals: dict[str, float] = {}
        self.listeners = listeners
        self.clock = clock

    def __call__(self, name: str, kind: str = "work") -> _Event:
        return _Event(self, name, kind)

    def note(self, name: str, kind: str, begun: float, end: float) -> None:
        """Keep an event that has ended, and tell the listeners."""
        self.spans.append((name, kind, begun, end, -1, -1, 0))
        self._totals[name] = self._totals.get(name, 0.0) + end - begun
        for listener in self.listeners:
            listener(name, "end", end)

    def seconds(self, name: str) -> list[float]:
        return [end - start for own, _, start, end, *_ in self.spans if own == name]

    def total(self, name: str) -> float:
        """The seconds of all of them together, at hand at any time."""
        return self._totals.get(name, 0.0)

    @property
    def timeline(self) -> Timeline:
        """All of it, beginning at 0; `.plot()` draws it."""
        zero = min((span[2] for span in self.spans), default=0.0)
        return Timeline(
            [[(*span[:2], span[2] - zero, span[3] - zero, *span[4:]) for span in self.spans]]
        )


def fresh(events: Events | None) -> Events:
    """These events, or new ones; refused if they have recorded something else already."""
    if events is not None and events.spans:
        raise ValueError(
            f"events: {len(events.spans)} are recorded in it already, whose seconds would be "
            "counted again; begin with new Events()"
        )
    return Events() if events is None else events


class _Event:
    """One event. A class with slots: a generator would cost twice as much."""

    __slots__ = ("begun", "events", "kind", "name")

    def __init__(self, events: Events, name: str, kind: str) -> None:
        self.events, self.name, self.kind = events, name, kind

    def __enter__(self) -> None:
        for listener in self.events.listeners:
            listener(self.name, "begin", self.events.clock())
        self.begun = self.events.clock()

    def __exit__(self, *_: object) -> None:
        self.events.note(self.name, self.kind, self.begun, self.events.clock())
