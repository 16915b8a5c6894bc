"""The conductor stands between a decider and a driver, and records every job.

A driver asks it for tasks and hands it outcomes. It asks the decider, keeps the states of trials
and writes the journal.

    while a worker is free and task := next(worker):    give it the task
    done(task.job, outcome)                             when one comes back
    until finished

To resume, a new decider is given the events of the journal. Jobs that were under way when the
search was killed are given out first.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_teach.search.attempt import JobOutcome, SearchFailed, State
from ddl_teach.search.decider import Decider, Job, Settings
from ddl_teach.search.journal import Event, Journal
from ddl_teach.search.report import Record, SearchProgress, SearchReport, best
from ddl_teach.training.consistency.states import unpack

HOPELESS = 20  # crashes before anything is done; so many more for each job that is done

Key = tuple[int, int]  # a trial and a rung


@dataclass(frozen=True)
class PendingJob:
    """A job, and the packed state to go on from; None at a trial's beginning."""

    job: Job
    state: np.ndarray | None


class Conductor:
    """One search, by a copy of the decider. `journal` is a folder; `watch(records)` is called
    whenever something has changed; after `stop(progress)` is true nothing more is given out."""

    def __init__(
        self,
        decider: Decider,
        journal: str | os.PathLike[str] | None = None,
        watch: Callable[[Sequence[Record]], Any] | None = None,
        stop: Callable[[SearchProgress], bool] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        if isinstance(decider, type) or not isinstance(decider, Decider):
            example = "SuccessiveHalving(space, trials=27)"
            raise TypeError(f"a search needs a decider such as {example}, not {decider!r}")
        for name, given in (("watch", watch), ("stop", stop)):
            if given is not None and not callable(given):
                example = "as stop=lambda progress: progress.seconds > 60"
                raise TypeError(f"{name} must be a function, {example}, not {given!r}")
        self._decider = copy.deepcopy(decider)
        self._watch, self._stop, self._now = watch, stop, now
        self.records: list[Record] = []
        self._place: dict[Key, int] = {}  # of a job's record among all
        self._under_way: dict[Key, Job] = {}
        self._states: dict[int, np.ndarray] = {}
        self._again: deque[Job] = deque()
        self._decided = 0
        self._stopped = False
        self._begun = now()
        self._journal = None if journal is None else Journal(journal)
        if self._journal is not None:
            events = self._journal.open(repr(self._decider))
            try:
                self._resume(self._journal, events)
            except BaseException:
                self._journal.close()
                raise

    def __enter__(self) -> Conductor:
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()

    def next(self, worker: int) -> PendingJob | None:
        """A task for this worker; None while there is nothing to do."""
        if self._stop is not None and not self._stopped and self._stop(self.progress):
            self._stopped = True
            self._changed(self.seconds)
        if self._stopped:
            return None
        job = self._again.popleft() if self._again else self._decider.next()
        if job is None:
            if not self._under_way and not self._decider.finished:
                raise RuntimeError(
                    f"{type(self._decider).__name__} is not finished, but its next() gave None "
                    "while no job runs: then no result can come. Let it give a job, or be finished"
                )
            return None
        self._happens("begun", job, steps=job.steps, settings=job.settings, worker=worker)
        return PendingJob(job, self._states.get(job.trial))

    def done(self, job: Job, outcome: JobOutcome) -> None:
        """Take in the result of a job."""
        if outcome.state is None or outcome.loss is None:
            self._happens("crashed", job, error=outcome.error)
            progress = self.progress
            if progress.crashes >= HOPELESS * (1 + progress.jobs):
                last = [record for record in self.records if record.decision == "crashed"][-1]
                raise SearchFailed(
                    f"{progress.crashes} jobs have crashed and {progress.jobs} were done, so this "
                    f"search ends. The last was trial {last.trial} with {last.settings}:\n    "
                    f"{last.error}\nCall the training by itself with these settings; if only a "
                    "part of the space crashes, as high rates do, make the space smaller"
                )
            return
        if self._journal is not None:
            self._journal.keep(job.trial, job.rung, outcome.state)
        self._states[job.trial] = outcome.state
        self._happens("done", job, loss=outcome.loss)
        if self._journal is not None:
            self._journal.forget(job.trial, job.rung - 1)

    @property
    def finished(self) -> bool:
        """Whether nothing runs and nothing more will be given out."""
        over = self._stopped or (self._decider.finished and not self._again)
        return over and not self._under_way

    @property
    def seconds(self) -> float:
        """How long the search has been running: before it was killed, and since."""
        return self._now() - self._begun

    @property
    def progress(self) -> SearchProgress:
        done = [record for record in self.records if record.loss is not None]
        return SearchProgress(
            trials=len({record.trial for record in self.records}),
            jobs=len(done),
            running=len(self._under_way),
            crashes=sum(record.decision == "crashed" for record in self.records),
            steps=sum(record.steps for record in done),
            planned=self._decider.planned,
            loss=min((record.loss for record in done if record.loss is not None), default=None),
            seconds=self.seconds,
        )

    def report(self, test: Callable[[Settings, State], float] | None = None) -> SearchReport:
        """The winner and all records; `test(settings, state)` is called once, for the winner."""
        winner, state, accuracy = best(self.records), None, None
        if winner is not None:
            state = unpack(self._states[winner.trial])
            accuracy = test(winner.settings, state) if test is not None else None
        records = tuple(self.records)
        return SearchReport(winner, accuracy, state, records, self.progress, self._decider)

    def _happens(self, what: str, job: Job, **more: Any) -> None:
        event = {what: [job.trial, job.rung], **more, "seconds": self.seconds}
        if self._journal is not None:
            self._journal.write(event)
        self._enter(what, job, event)
        self._changed(event["seconds"])

    def _enter(self, what: str, job: Job, event: Event) -> None:
        """Enter an event into the books, whether it happens now or is read in the journal."""
        key, now = (job.trial, job.rung), event["seconds"]
        if what == "begun":
            self._under_way[key] = job
            self._place[key] = len(self.records)
            about = job.trial, job.settings, job.rung, job.steps
            self.records.append(Record(*about, None, "running", event["worker"], now))
        elif what == "done":
            del self._under_way[key]
            self._note(key, loss=event["loss"], decision="waiting", end=now)
            self._decider.tell(job, event["loss"])
        else:
            del self._under_way[key]
            error = event["error"]
            self._note(key, decision="crashed", end=now, decided=now, error=error)
            self._decider.crashed(job, error)
        for decision in self._decider.decisions[self._decided :]:
            self._note((decision.trial, decision.rung), decision=decision.what, decided=now)
        self._decided = len(self._decider.decisions)

    def _note(self, key: Key, **changes: Any) -> None:
        place = self._place[key]
        self.records[place] = dataclasses.replace(self.records[place], **changes)

    def _changed(self, seconds: float) -> None:
        if self.finished:
            winner = best(self.records)
            for record in list(self.records):
                if record is winner or record.decision == "waiting":
                    what = "best" if record is winner else "stopped"
                    key = record.trial, record.rung
                    self._note(key, decision=what, decided=seconds)
        if self._watch is not None:
            self._watch(self.records)

    def _resume(self, journal: Journal, events: list[Event]) -> None:
        for event in events:
            (what,) = {"begun", "done", "crashed"} & set(event)
            key = tuple(event[what])
            if what == "begun" and key not in self._under_way:
                job = self._decider.next()
                if job is None or (job.trial, job.rung) != key:
                    raise ValueError(
                        f"the journal says that trial {key[0]} began rung {key[1]}, but the "
                        f"decider gives {job}: the journal was written by another version of it. "
                        "Begin anew in another folder"
                    )
                self._under_way[key] = job
            elif what == "begun":  # a job that an earlier kill had interrupted
                self._note(key, decision="interrupted")
            self._enter(what, self._under_way[key], event)
        self._again.extend(self._under_way.values())
        for key in self._under_way:
            self._note(key, decision="interrupted")
        self._under_way.clear()
        reached = {record.trial: record.rung for record in self.records if record.loss is not None}
        self._states = {trial: journal.state(trial, rung) for trial, rung in reached.items()}
        if events:
            self._begun -= events[-1]["seconds"]
            self._changed(events[-1]["seconds"])
