"""Streaming DiLoCo: the weights agree fragment by fragment, while the steps go on.

    the change of one fragment begins to travel; `delay` steps later its mean is used:
    outer rule on the agreed fragment;    w = mixing w + (1 - mixing) agreed

Each fragment travels once in `period` steps, and only one at a time. The bytes are DiLoCo's, but
less of them travel at once, and no step waits if that takes less than `delay` steps. With one
fragment and no delay it is DiLoCo. Douillard et al., "Streaming DiLoCo with overlapping
communication: towards a distributed free lunch", 2025.
What to look at: on the timeline, messages under the gradients.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ddl_runtime.core.arrays import split_evenly
from ddl_runtime.core.checks import amount, whole_number
from ddl_teach.comm import Request
from ddl_teach.theory.slow_links import starts
from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.diloco import OUTER
from ddl_teach.training.consistency.handles import SyncHandle
from ddl_teach.training.optimizers.update import Update


@runtime_checkable
class BeginsAverages(SyncHandle, Protocol):
    """A handle to all workers together, for averages beside a worker's own steps."""

    def begin_average(self, vector: np.ndarray) -> Request:
        """Begin to replace `vector` by its mean: one after another, and done when waited for."""


@dataclass(frozen=True)
class StreamingDiLoCo(Consistency[BeginsAverages]):
    """So many `fragments`, each once in `period` steps, in equal distances."""

    period: int = 100
    fragments: int = 4
    delay: int = 0
    mixing: float = 0.0
    outer: Update = OUTER
    needs = (BeginsAverages,)
    sends = "fragments"

    def __post_init__(self) -> None:
        super().__post_init__()
        amount(self.mixing, "StreamingDiLoCo: mixing", below=1)
        whole_number(self.fragments, "StreamingDiLoCo: fragments", 1)
        whole_number(self.delay, "StreamingDiLoCo: delay", 0)
        if self.fragments * max(1, self.delay) > self.period:
            raise ValueError(
                f"StreamingDiLoCo: fragments={self.fragments} must be under way one at a time, "
                f"delay={self.delay} steps each: more than period={self.period} steps"
            )

    def travels(self, task: object, weights: np.ndarray) -> np.ndarray:
        return weights[: -(-len(weights) // self.fragments)]  # the longest fragment

    def run(self, worker: AnyWorker[BeginsAverages]) -> None:
        agreed, parts = worker.weights.copy(), self.fragments
        states = [np.zeros_like(agreed) for _ in range(self.outer.states)]
        own, common, *kept = (split_evenly(x, parts) for x in (worker.weights, agreed, *states))
        change = np.zeros_like(self.travels(None, agreed))
        rounds, sent = [0] * parts, [0] * parts  # of each fragment
        turns = {after % self.period: n for n, after in enumerate(starts(self.period, parts))}

        def begin(number: int, step: int) -> tuple[int, Request]:
            change[:] = 0
            change[: len(own[number])] = own[number] - common[number]
            sent[number] = step
            return number, worker.handle.begin_average(change)

        def end(number: int, request: Request) -> None:
            request.wait()
            rounds[number] += 1
            slope = -change[: len(own[number])]
            self.outer(common[number], slope, [state[number] for state in kept], rounds[number])
            own[number][:] = self.mixing * own[number] + (1 - self.mixing) * common[number]

        under_way: tuple[int, Request] | None = None
        for step in range(1, worker.steps + 1):
            worker.update(worker.gradient(step - 1))
            # With a delay, what travels ends before the next begins.
            for starting in (False, True):
                if starting and step % self.period in turns:
                    under_way = begin(turns[step % self.period], step)
                if under_way is not None and step - sent[under_way[0]] == self.delay:
                    end(*under_way)
                    under_way = None
        if under_way is not None:
            end(*under_way)
        for number in range(parts):
            if sent[number] < worker.steps:
                end(*begin(number, worker.steps))
        worker.weights[:] = agreed
