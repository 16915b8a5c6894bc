"""A search on ranks: rank 0 conducts, all others train.

    rank 0:   give every free worker a task; take the first outcome that comes; again
    others:   take a task, train, hand the outcome in; again

A job costs four messages, two of them of 8 bytes; its state travels there and back. On simulated
ranks a `pace` says how long a job takes: so a thousand workers can wait for each other.
What to look at: on the timeline of a search by halving, the gaps before each new rung; in the
asynchronous form there are none.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import numpy as np

from ddl_teach.collectives.sparse import messages
from ddl_teach.comm import ANY, Comm
from ddl_teach.search.attempt import JobOutcome, ResumableTraining, State, attempt
from ddl_teach.search.conductor import Conductor, PendingJob
from ddl_teach.search.decider import Decider, Job, Settings
from ddl_teach.search.report import Record, SearchProgress, SearchReport
from ddl_teach.training.tasks.task import placed


def search(
    comm: Comm, training: ResumableTraining, decider: Decider,
    journal: str | os.PathLike[str] | None = None, *,
    test: Callable[[Settings, State], float] | None = None,
    watch: Callable[[Sequence[Record]], Any] | None = None,
    stop: Callable[[SearchProgress], bool] | None = None,
    pace: Callable[[int, Job], float] | None = None,
) -> SearchReport | None:  # fmt: skip
    """Search; every rank calls it alike, and rank 0 gets the report. What can compute on a device
    trains on `comm.device`.

    `journal` is a folder: a search that was killed goes on from there when it is called again, on
    any number of ranks. `test(settings, state)` is the winner's accuracy on the test part.
    `watch(records)` is called on rank 0 whenever something has changed. Once `stop(progress)` is
    true nothing more is begun: after a minute with `lambda progress: progress.seconds > 60`.
    `pace(rank, job)` are seconds that a worker is busy besides, at each job.
    """
    training = placed(training, comm.device)

    def train(task: PendingJob) -> JobOutcome:
        with comm.span(f"trial {task.job.trial}, rung {task.job.rung}"):
            if pace is not None:
                comm.work(seconds=pace(comm.rank, task.job))
            return attempt(training, task.job, task.state)

    if comm.rank > 0:
        while (task := _receive(comm, 0)) is not None:
            _send(comm, (comm.rank, task.job, train(task)), 0)
        return None
    with Conductor(decider, journal, watch, stop, comm.now) as conductor:
        if comm.size > 1:
            _conduct(comm, conductor)
        while not conductor.finished and (task := conductor.next(0)) is not None:
            conductor.done(task.job, train(task))
        return conductor.report(test)


def _conduct(comm: Comm, conductor: Conductor) -> None:
    free = deque(range(1, comm.size))
    while not conductor.finished:
        while free and (task := conductor.next(free[0])) is not None:
            _send(comm, task, free.popleft())
        if not conductor.finished:
            worker, job, outcome = _receive(comm, ANY)
            conductor.done(job, outcome)
            free.append(worker)
    for worker in range(1, comm.size):
        _send(comm, None, worker)


def _send(comm: Comm, thing: PendingJob | tuple[int, Job, JobOutcome] | None, to: int) -> None:
    for request in messages.begin(comm, np.frombuffer(cloudpickle.dumps(thing), np.uint8), to):
        request.wait()


def _receive(comm: Comm, source: int) -> Any:
    return cloudpickle.loads(messages.receive(comm, source).tobytes())
