"""Tests that are collected once, and run in a fork for each mutant whose fault fits in there."""

from __future__ import annotations

import json
import os
import selectors
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from tests.grafts import graft

SECONDS = 600  # of processor time, for all tests of a mutant
END = ["--timeout-method=thread"]  # of the process: a test may catch what a signal raises
DECLINED, NOTHING = "declined: ", ""  # what no test's name is


@dataclass
class Trial:
    """One source in place of a module's own, and the tests that look at it."""

    fault: str
    module: str
    source: str
    tests: Sequence[Path]
    only: str = ""  # one test, by its full name
    killer: str = NOTHING

    @property
    def killed(self) -> bool:
        return self.killer != NOTHING and not self.killer.startswith(DECLINED)


@dataclass(eq=False)
class Forks:
    """A plugin of pytest which, in place of the collected tests, runs those of each trial.

    A phase says its trials when those of the phase before have ended.
    """

    phases: Sequence[Callable[[], Iterable[Trial]]]
    workers: int
    failed: str = NOTHING
    running: dict[int, tuple[Trial, int]] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("tests cannot be imported where no fault is planted")
        by_file: dict[Path, list[pytest.Item]] = {}
        for item in session.items:
            by_file.setdefault(item.path.relative_to(session.config.rootpath), []).append(item)
        with selectors.DefaultSelector() as ends:
            for phase in self.phases:
                for trial in phase():
                    items = [item for test in trial.tests for item in by_file.get(test, ())]
                    if trial.only:
                        items = [item for item in items if item.nodeid == trial.only]
                    self._start(trial, items, ends)
                    while len(self.running) >= self.workers:
                        self._reap(ends)
                while self.running:
                    self._reap(ends)
        return True

    def _start(self, trial: Trial, items: list[pytest.Item], ends: selectors.BaseSelector) -> None:
        reading, writing = os.pipe()
        if pid := os.fork():
            os.close(writing)
            ends.register(reading, selectors.EVENT_READ, pid)
            self.running[pid] = trial, reading
            return
        os.setsid()
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)  # its signal ends this process
        try:
            os.write(writing, json.dumps(self._first_failure(trial, items)).encode())
        finally:
            os._exit(0)

    def _first_failure(self, trial: Trial, items: list[pytest.Item]) -> str:
        """In the fork: the name of the first test that fails."""
        try:
            graft(trial.module, trial.source)
        except BaseException as error:
            return f"{DECLINED}{error!r}"
        for item, later in pairwise([*items, None]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=later)
            if self.failed:
                return self.failed
        return NOTHING

    def _reap(self, ends: selectors.BaseSelector) -> None:
        for key, _ in ends.select():
            trial, reading = self.running.pop(key.data)
            text = os.read(reading, 100_000)
            ends.unregister(reading)
            os.close(reading)
            _, status = os.waitpid(key.data, 0)
            with suppress(ProcessLookupError):  # processes that its tests have left
                os.killpg(key.data, signal.SIGKILL)
            trial.killer = json.loads(text) if text else f"{DECLINED}ended with {status}"
            print(f"{trial.fault}\n    {trial.killer or 'passes'}", flush=True)


def collected(tests: Sequence[Path], marks: str, forks: Forks) -> None:
    """Collect these tests once, and run the trials of these forks."""
    words = ["-q", "-s", "--timeout=60", *END, "-p", "no:cacheprovider", "-m", marks]
    pytest.main([*words, *map(str, tests)], plugins=[forks])
