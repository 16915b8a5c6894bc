"""A worker: its weights, its share of the data, and a diary of what it did.

The diary has three columns, one line a step: the loss on its own share, and when that was and how
many bytes this rank had sent by then. Loss against steps says what an idea is worth, loss against
seconds or bytes what it is worth on a machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.networks.memory.updates import Update
from ddl_teach.sgd.station import Station
from ddl_teach.sgd.task import Task
from ddl_teach.sgd.updates.kfac import Factors

Pace = Callable[[int, int], float]


class Worker:
    """What a WHEN works with. `pace(worker, step)` are seconds that a gradient takes besides."""

    def __init__(
        self,
        comm: Comm,
        task: Task,
        station: Station,
        rule: Update,
        weights: np.ndarray,
        steps: int,
        pace: Pace | None = None,
    ) -> None:
        self.comm, self.task, self.station, self.rule = comm, task, station, rule
        self.weights, self.steps, self.pace = weights, steps, pace
        self.states = [np.zeros_like(weights) for _ in range(rule.states)]
        self.updates = 0
        self.losses: list[float] = []
        self.seconds: list[float] = []
        self.bytes: list[int] = []
        self.staleness: list[int] = []  # of its updates, where no server counts it
        self._begun = comm.now()
        self._sent = 0
        _, self._entries = comm.ledger.since(0)

    def gradient(
        self, step: int, weights: np.ndarray | None = None, comm: Comm | None = None
    ) -> np.ndarray:
        """Of this worker's share of minibatch `step`, a new vector: at its own weights, or at
        others; a background function gives the communicator that it runs on."""
        return self._timed(self.task.gradient, step, weights, comm)[0]

    def touched(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """The same gradient of a task that knows which few entries it touches: their indices,
        ascending, and their values."""
        return self._timed(self.task.touched, step, None, None)

    def curvature(self, step: int) -> list[Factors]:
        """Of a task that knows its layers: what K-FAC makes its step of, gradients among it."""
        return self._timed(self.task.curvature, step, None, None)[0]

    def _timed(
        self, ask: Callable, step: int, weights: np.ndarray | None, comm: Comm | None
    ) -> tuple:
        comm, number = comm or self.comm, self.station.worker
        weights = self.weights if weights is None else weights
        with comm.span("gradient", kind="work"):
            loss, *gradient = ask(weights, number, self.station.workers, step)
        if self.pace is not None:
            comm.work(seconds=self.pace(number, step))
        sent, self._entries = comm.ledger.since(self._entries)
        self._sent += sent
        self.losses.append(loss)
        self.seconds.append(comm.now() - self._begun)
        self.bytes.append(self._sent)
        return tuple(gradient)

    def pull(self, step: int) -> int:
        """Get the servers' weights for gradient `step`; the step to go on with. Where the task
        knows which rows it will look at only those travel, and all of them after the last step."""
        station = self.station
        while True:
            knows = hasattr(self.task, "needed") and step < self.steps
            rows = self.task.needed(station.worker, station.workers, step) if knows else None
            clock = station.pull(self.weights, rows)
            if rows is None or clock == step:
                return clock
            step = clock  # overtaken: the step it goes on with looks at other rows

    def update(self, gradient: np.ndarray) -> None:
        """One step of the rule, on this worker's own weights."""
        self.updates += 1
        self.rule(self.weights, gradient, self.states, self.updates)
