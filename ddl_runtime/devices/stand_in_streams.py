"""Streams of the stand-in device: what is put on them now is done later, and one can see when.

On a stream everything happens in the order in which it was asked for; between streams there is
no order but what events make. On a GPU a wait that was forgotten shows once in a thousand runs.
Here nothing runs by itself: the device moves on only when a program *looks* at an event, by as
little as it must, in the order of its `schedule`:

    "late"     only what the event needs, one step a look: finds every wait that was forgotten
    "early"    at once, whatever is free to run: finds what relied on lateness
    a number   a step or none, on any stream, by dice with this seed

CUDA C++ Programming Guide, "Asynchronous Concurrent Execution", has the rules of real ones.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

Schedule = str | int


@dataclass(slots=True)
class Work:
    """A kernel or a copy on a stream, or the stream's wait for an event. A slow one ends after a
    number of queries, or when it is released."""

    run: Callable[[], None]
    after: StandInEvent | None = None
    looks: float = 0

    @property
    def free(self) -> bool:
        return not self.looks and (self.after is None or self.after.reached)

    def release(self) -> None:
        self.looks = 0


class StandInStream:
    """Work that is done in the order in which it was asked for."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.open: deque[Work] = deque()
        self.ended = 0

    def put(self, work: Work) -> None:
        self.streams.put(self, work)


@dataclass(eq=False)
class StandInEvent:
    """A mark on a stream."""

    stream: StandInStream
    position: int

    @property
    def reached(self) -> bool:
        """Whether the stream has passed this mark. Unlike `done`, it lets nothing go on."""
        return self.stream.ended >= self.position

    def done(self) -> bool:
        """Whether the stream has passed this mark. To ask lets the device go on a little."""
        return self.stream.streams.look(self)


class Streams:
    """All streams of one device, and the schedule that says when their work is done."""

    def __init__(self, schedule: Schedule) -> None:
        self.choose(schedule)
        self._lock = threading.RLock()  # a rank's background functions look, too
        self._busy: dict[StandInStream, None] = {}

    def choose(self, schedule: Schedule) -> None:
        if schedule not in ("late", "early") and not isinstance(schedule, int):
            raise ValueError(f'schedule: "late", "early" or a seed, not {schedule!r}')
        self._early = schedule == "early"
        self._dice = random.Random(schedule) if isinstance(schedule, int) else None

    def put(self, stream: StandInStream, work: Work) -> None:
        with self._lock:
            stream.open.append(work)
            self._busy[stream] = None
            self._go_on()

    def look(self, event: StandInEvent) -> bool:
        """Whether an event was reached before the device moved on by one step."""
        with self._lock:
            needed = self._needed_on(event)
            if needed is not None:
                if needed.open[0].looks > 0:
                    needed.open[0].looks -= 1
                else:
                    self._step(needed)
            if needed is not None or self._early:
                self._go_on()
            return needed is None

    def drain(self, event: StandInEvent) -> None:
        """Look until the event is reached, as a host does that can do nothing else meanwhile."""
        while not self.look(event):
            stream = self._needed_on(event)
            if stream and stream.open[0].looks == inf:
                raise RuntimeError(
                    "the host waits for the device, and the device for a kernel that is held "
                    "back: release() it first, or this would never end"
                )

    def _needed_on(self, event: StandInEvent) -> StandInStream | None:
        """The stream whose next work must be done first for an event to be reached."""
        if event.reached:
            return None
        after = event.stream.open[0].after
        return (self._needed_on(after) if after else None) or event.stream

    def _step(self, stream: StandInStream) -> None:
        work = stream.open.popleft()
        stream.ended += 1
        try:
            work.run()
        finally:
            if not stream.open:
                del self._busy[stream]

    def _go_on(self) -> None:
        """Move as far as the schedule wants, on streams whose next work is free to run."""
        while self._early and (free := self._free()):
            for stream in free:
                self._step(stream)
        if self._dice and (free := self._free()) and self._dice.random() < 0.5:
            self._step(self._dice.choice(free))

    def _free(self) -> list[StandInStream]:
        return [stream for stream in self._busy if stream.open[0].free]
