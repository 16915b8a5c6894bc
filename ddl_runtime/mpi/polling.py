"""How a real rank waits: briefly at full speed, then politely, and never without an end.

MPI's own blocking calls cannot be interrupted and say nothing. So every wait here asks the library
again and again: first in a tight loop, because most messages are microseconds away; then giving
way to other processes; then sleeping longer and longer, so that ranks outnumbering the cores burn
none of them. A long wait is reported to the process that watches the ranks, which can see a
deadlock from the reports of all. It also asks whether it should stop.
"""

import math
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from ddl_runtime.diagnosis.deadlock import TimedOut, together
from ddl_runtime.diagnosis.waits import Wait

YIELDING = 0.002  # seconds of giving way before sleeping
LONGEST_NAP = 0.0005
REPORT_AFTER = 0.05  # seconds after which a wait is worth a report, and between reports
PEER, DEVICE = "peer", "device"  # a transfer waits for another rank, or for its own device


class Stopped(BaseException):
    """Raised in a rank that must end because another one failed. Not an Exception, so that the
    learner's `except Exception` does not swallow it."""


class Monitor:
    """Reports one rank's long waits to a watching process. Without one, a wait that lasts longer
    than `seconds` ends with an error.

    A rank may wait in several strands, its program and what it runs in the background. It is
    reported as waiting when all of them are, for as soon as one goes on, the rank does.
    """

    def __init__(
        self, report: Callable[[Wait | None, int], None] | None = None, seconds: float = math.inf
    ) -> None:
        self.stopping = False
        self.stopped = False  # the program itself is on its way out, and not to be stopped again
        self.asked = 0  # the watcher's latest question
        self.strands = 1
        self.functions: dict[int, None] = {}  # that run in the background, by their threads
        self.error: BaseException | None = None  # raised in the background, not yet reported
        # Messages that go on step by step whenever the rank waits, driven by one strand at a time.
        self.transfers: dict[Any, None] = {}
        self.driving = threading.Lock()
        # Receives of long messages, by the thread that began them: they may come in chunks.
        self.receives: dict[Any, int] = {}
        self.steps = 0  # that they have taken
        self._report = report
        self._seconds = seconds
        self._ends = time.monotonic() + seconds
        self._serial = 0  # changes whenever a strand begins or ends a wait
        self._waits: dict[object, Wait] = {}
        self._question = 0  # the question that is being answered ...
        self._polled: set[object] = set()  # ... and the strands that have looked again since

    def waiting(self, strand: object, wait: Wait) -> None:
        """A strand of this rank has waited for long."""
        if self._waits.get(strand) != wait:
            self._serial += 1
            self._waits[strand] = wait
            self._tell()

    def resumed(self, strand: object) -> None:
        if self._waits.pop(strand, None) is not None:
            self._serial += 1
            if self._report:
                self._report(None, self._serial)

    def check(self, strand: object) -> None:
        """Called in every long wait, each time after asking the library once more."""
        if self.stopping:
            self.stopped = self.stopped or _on_main()
            raise Stopped
        if self.error is not None and _on_main():
            error, self.error = self.error, None
            raise error
        if time.monotonic() > self._ends and strand in self._waits:
            wait = self._waits[strand]
            raise TimedOut(
                f"The time was up: {self._seconds:g} s. It waited in {wait.call} at {wait.where}."
            )
        if self.asked != self._question:
            self._question = self.asked
            self._polled.clear()
        if strand not in self._polled:
            self._polled.add(strand)
            if len(self._polled) >= self.strands:
                self._tell()

    def drive(self) -> None:
        """Continue all transfers, unless another strand does so already."""
        if self.transfers and self.driving.acquire(blocking=False):
            try:
                for transfer in list(self.transfers):
                    transfer.advance()
            finally:
                self.driving.release()

    def take_chunks(self) -> None:
        """Take the chunks of messages that this thread has begun to receive but does not wait for,
        so that their senders need not wait."""
        me = threading.get_ident()
        with self.driving:
            for receive, thread in list(self.receives.items()):
                if thread == me:
                    receive.take_chunks()

    def moved(self) -> None:
        """A transfer has come further: the search for a deadlock must begin anew."""
        self.steps += 1
        self._serial += 1

    def _tell(self) -> None:
        if self._report and len(self._waits) >= self.strands:
            self._report(together(list(self._waits.values())), self._serial)


def _on_main() -> bool:
    return threading.current_thread() is threading.main_thread()


class Polling:
    """How one strand of a rank waits: it asks often at first, then sleeps between."""

    def __init__(self, monitor: Monitor, local_ranks: int) -> None:
        self._monitor = monitor
        cores = (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        )
        # Where every rank has a core to itself, asking costs the others nothing.
        self.spins = 2000 if local_ranks <= (cores or 1) else 10

    def wait(
        self, finished: Callable[[], Any], explain: Callable[..., Wait], *details: Any
    ) -> None:
        """Return once `finished()` says so. A long wait calls `explain(*details)` now and then,
        which says what is waited for, or raises when it finds that it cannot come."""
        monitor = self._monitor
        for _ in range(self.spins):
            if finished():
                return
            if monitor.transfers:
                monitor.drive()
        started = begun = now = time.perf_counter()
        report_at = begun + REPORT_AFTER
        nap, steps = 20e-6, monitor.steps
        try:
            while not finished():
                monitor.drive()
                if monitor.receives:
                    monitor.take_chunks()
                now = time.perf_counter()
                if steps != monitor.steps:  # the next step may be microseconds away as well
                    begun, nap, steps = now, 20e-6, monitor.steps
                if now < begun + YIELDING:
                    os.sched_yield()
                    continue
                time.sleep(nap)
                nap = min(nap * 1.2, LONGEST_NAP)
                if any(each.waits_for == DEVICE for each in list(monitor.transfers)):
                    monitor.resumed(self)  # its device goes on without any other rank
                elif now > report_at:
                    report_at = now + REPORT_AFTER
                    monitor.waiting(self, explain(*details))
                monitor.check(self)
        finally:
            if now > started + REPORT_AFTER:
                monitor.resumed(self)
