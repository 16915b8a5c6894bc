"""A worker: its weights, its share of the data, and a diary of what it did.

The diary has, for each step, the loss on its own share, when that was, and the bytes that this
rank had sent by then. Loss against steps says what an idea is worth, loss against seconds or bytes
what it is worth on a machine.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, runtime_checkable

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.consistency.consistency import Answer, OwnHandle, Question
from ddl_teach.training.consistency.rows import Rows
from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.tasks.task import Trainable

Pace = Callable[[int, int], float]


@runtime_checkable
class KnowsRows(Protocol):
    """A task that knows beforehand which rows of its weights a gradient looks at."""

    def needed(self, part: int, parts: int, step: int) -> Rows:
        """The rows that this share of the minibatch uses."""


@dataclass(eq=False)
class Worker(Generic[OwnHandle]):
    """What a consistency works with; `pace(worker, step)` are seconds that a gradient costs."""

    comm: Comm
    task: Trainable
    handle: OwnHandle
    rule: Update
    weights: np.ndarray
    steps: int
    pace: Pace | None = None
    updates: int = field(default=0, init=False)
    losses: list[float] = field(default_factory=list, init=False)
    seconds: list[float] = field(default_factory=list, init=False)
    bytes: list[int] = field(default_factory=list, init=False)
    staleness: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.states = [np.zeros_like(self.weights) for _ in range(self.rule.states)]
        self._begun, self._sent = self.comm.now(), 0
        _, self._entries = self.comm.ledger.since(0)

    def gradient(
        self, step: int, weights: np.ndarray | None = None, comm: Comm | None = None
    ) -> np.ndarray:
        return self.ask(self.task.gradient, step, weights, comm)

    def ask(
        self,
        question: Question[Answer],
        step: int,
        weights: np.ndarray | None = None,
        comm: Comm | None = None,
    ) -> Answer:
        """What the task says of this worker's share of minibatch `step`; noted in the diary."""
        comm, number = comm or self.comm, self.handle.worker
        weights = self.weights if weights is None else weights
        with comm.span("gradient", kind="work"):
            loss, answer = question(weights, number, self.handle.workers, step)
        if self.pace is not None:
            comm.work(seconds=self.pace(number, step))
        sent, self._entries = comm.ledger.since(self._entries)
        self._sent += sent
        self.losses.append(loss)
        self.seconds.append(comm.now() - self._begun)
        self.bytes.append(self._sent)
        return answer

    def common_loss(self, weights: np.ndarray) -> float:
        return self.task.gradient(weights, 0, 1, 0)[0]

    def needed(self, step: int) -> Rows | None:
        """Which rows gradient `step` looks at, if the task knows; after the last step, all."""
        if step >= self.steps or not isinstance(self.task, KnowsRows):
            return None
        return self.task.needed(self.handle.worker, self.handle.workers, step)

    def update(self, gradient: np.ndarray) -> None:
        self.updates += 1
        self.rule(self.weights, gradient, self.states, self.updates)

    def update_at(self, indices: np.ndarray, values: np.ndarray) -> None:
        """One step of the rule where the gradient is not zero; all else is not even read."""
        self.updates += 1
        before = self.weights[indices]
        after, states = before.copy(), [state[indices] for state in self.states]
        self.rule(after, values, states, self.updates)
        for state, part in zip(self.states, states, strict=True):
            state[indices] = part
        self.weights[indices] += after - before
