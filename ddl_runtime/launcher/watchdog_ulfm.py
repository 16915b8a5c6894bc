"""Watching over ranks that may die one by one: the others go on, and their run is the run."""

from __future__ import annotations

from typing import Any

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_runtime.launcher.pipe import RankPipe
from ddl_runtime.launcher.watchdog import Watchdog


class SurvivorsWatchdog(Watchdog):
    """A program that is over when all who live have returned; the dead have None for a result."""

    survivors = True

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self._lost: list[int] = []

    def _hear(self, line: RankPipe) -> None:
        super()._hear(line)
        self._lost += self._dead
        self._dead.clear()

    def _look_for_deadlock(self) -> None:
        # Who waits for the dead is about to hear of it.
        if not self._lost:
            super()._look_for_deadlock()

    def quiet(self) -> bool:
        return super().quiet() and not self._lost

    def conclude(self) -> Any:
        if not self._returned:
            raise RankFailed("All ranks have died: nobody was left to go on.", self._lost[0])
        return super().conclude()
