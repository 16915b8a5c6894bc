"""A line: functions that run one after another beside a rank's own work, as the collectives of a
group do on a stream of NCCL's."""

from collections.abc import Callable
from typing import Any

from ddl_runtime.core.parts import Groups, Request
from ddl_runtime.core.watch import Watch
from ddl_runtime.diagnosis.frames import begun_here


class Line:
    """Made by `Comm.line`. All ranks put the same functions into it, in the same order; whether
    one of them waits for a function or not is its own affair."""

    def __init__(self, groups: Groups[Any], place: Any, here: Any, watch: Watch | None) -> None:
        self._groups = groups
        self._place = place  # for functions beside the rank's own work
        self._here = here  # the same messages, for functions that the rank runs itself
        self._watch = watch
        self._last: Request | None = None

    def start(self, function: Callable[..., Any], *args: Any) -> Request:
        """Run `function(comm, *args)` when all before it are done, and beside what follows."""
        self._last = self._groups.start(
            self._place, begun_here(function), args, self._last, light=True
        )
        if self._watch is not None:
            self._watch.background.append(self._last.wait)
        return self._last

    def run(self, function: Callable[..., Any], *args: Any) -> None:
        """Run it when all before it are done, and wait: without a thread of its own."""
        if self._last is not None:
            self._last.wait()
            self._last = None
        function(self._here, *args)
