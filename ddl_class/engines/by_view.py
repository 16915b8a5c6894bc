"""A search on the engines behind a notebook, through ipyparallel's load-balanced view.

    view = engines.client.load_balanced_view()
    report = search(view, training, decider, journal="my_search")

The view gives a job to whichever engine is free; the notebook conducts, and keeps the states of
all trials: a job's state travels to an engine and back, 2 n bytes. There are never more jobs under
way than engines, so that each decision is taken by all that is known. Interrupt it whenever you
like: with a journal the same call goes on where it was. The job of an engine that dies is given
out again, once; a job that has killed two engines has crashed.
What to look at: a training that raises costs one job, one that kills its process an engine.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING, Any

from ddl_runtime.diagnosis.deadlock import DiagnosedError, Interrupted
from ddl_runtime.diagnosis.page import folded
from ddl_runtime.launcher.serialise import ship
from ddl_teach.search.attempt import JobOutcome, ResumableTraining, State, attempt
from ddl_teach.search.conductor import Conductor, PendingJob
from ddl_teach.search.decider import Decider, Settings
from ddl_teach.search.report import Record, SearchProgress, SearchReport

if TYPE_CHECKING:
    import ipyparallel

GLANCE = 0.25  # seconds between two calls of `watch`, while nothing changes
ENGINE_DIED = "its engine died, twice"


class EnginesGone(RuntimeError):
    """No engine is left to go on with."""


def search(
    view: ipyparallel.LoadBalancedView, training: ResumableTraining, decider: Decider,
    journal: str | os.PathLike | None = None, *,
    test: Callable[[Settings, State], float] | None = None,
    watch: Callable[[Sequence[Record]], Any] | None = None,
    stop: Callable[[SearchProgress], bool] | None = None,
) -> SearchReport:  # fmt: skip
    """Search on all engines of the view; a worker is a place for one job, on whichever of them.

    `journal` is a folder: a search that was interrupted goes on from there when it is called
    again. `test(settings, state)` is the winner's accuracy on the test part. `watch(records)` is
    called whenever something has changed, and now and then in between; once `stop(progress)` is
    true nothing more is begun.
    """
    with Conductor(decider, journal, watch, stop) as conductor:
        try:
            _conduct(view, training, conductor, watch)
        except (KeyboardInterrupt, EnginesGone) as error:
            progress = conductor.progress
            text = f"{str(error) or 'Interrupted.'} {progress.jobs} jobs are done, "
            text += f"{progress.steps:,} of {progress.planned:,} steps, and "
            if journal is None:
                text += "lost: give journal='a folder' next time, and a search goes on there."
            else:
                text += f"kept: the same call with journal={os.fspath(journal)!r} goes on from "
                text += "there, on whatever engines there are then (engines.restart(), then a "
                text += "view of engines.client)."
            kind = EnginesGone if isinstance(error, EnginesGone) else Interrupted
            raise kind(folded(text)) from None
        return conductor.report(test)


def perform(shipped: bytes) -> JobOutcome:
    """What an engine does: one job."""
    function, arguments, _ = pickle.loads(shipped)
    return function(**arguments)


def _conduct(
    view: ipyparallel.LoadBalancedView,
    training: ResumableTraining,
    conductor: Conductor,
    watch: Callable[[Sequence[Record]], Any] | None,
) -> None:
    free, under_way, lost_once = deque(range(len(view.client.ids))), {}, set()
    while True:
        while free and (task := conductor.next(free[0])) is not None:
            under_way[_give(view, training, task)] = free.popleft(), task
        if conductor.finished:
            return
        if not under_way:
            raise EnginesGone("No engine is there. Start some with Engines(4).")
        done, _ = wait(under_way, timeout=GLANCE, return_when=FIRST_COMPLETED)
        if watch is not None and not done:
            watch(conductor.records)
        # What was done well comes first: there may be no engine left to go on with the rest.
        for result in sorted(done, key=lambda result: result.exception() is not None):
            place, task = under_way.pop(result)
            outcome, key = _outcome(result), (task.job.trial, task.job.rung)
            if outcome.error == ENGINE_DIED and key not in lost_once:
                lost_once.add(key)
                death = f"an engine died in rung {key[1]} of trial {key[0]}"
                under_way[_give(view, training, task, f"{death}, and ")] = place, task
                warnings.warn(f"{death}: the job is given out once more", stacklevel=3)
                continue
            conductor.done(task.job, outcome)
            if len(free) + len(under_way) < len(view.client.ids):  # fewer, where some have died
                free.append(place)


def _give(
    view: ipyparallel.LoadBalancedView,
    training: ResumableTraining,
    task: PendingJob,
    before: str = "",
) -> ipyparallel.AsyncResult:
    shipped = ship(attempt, {"training": training, "job": task.job, "state": task.state})
    if view.client.ids:  # without engines ipyparallel keeps a task for one that will come
        with contextlib.suppress(DiagnosedError):  # engines of a notebook end all at once
            return view.apply_async(perform, shipped)
    raise EnginesGone(f"{before}no engine is left.")


def _outcome(result: ipyparallel.AsyncResult) -> JobOutcome:
    error = result.exception()
    if error is None:
        return result.result()
    if error.ename == "EngineError":
        return JobOutcome(None, None, ENGINE_DIED)
    return JobOutcome(None, None, f"{error.ename}: {error.evalue}")  # what no training may raise
