"""Elastic averaging: workers do not agree; springs hold them to a centre, and it to them.

    away = w_i - centre;    w_i -= a away;    centre += a away       every `period` steps
    w_i -= rate g_i                                                  every step

Workers differ and so explore; the centre is a slow mean of them, and the result. In a bowl of
curvature h worker i alone would end in m_i. With period 1 the springs hold it at rate h m_i /
(rate h + a), around the centre in the mean of all m_i. Zhang, Choromanska and LeCun, "Deep
learning with elastic averaging SGD", NIPS 2015, with a = `spring` / P. What to look at: over
servers no worker waits. Without servers all keep a copy of the centre, and move it by the mean.
"""

import math
from dataclasses import dataclass

from ddl_runtime.core.arrays import Array
from ddl_runtime.core.checks import amount
from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Averages, Serves, Service
from ddl_teach.training.optimizers.update import Update


class Pull:
    """The rule of a server with a centre: what workers push is taken off as it is."""

    states = 0
    elementwise = True

    def __call__(self, weights: Array, gradient: Array, states: object, step: int) -> None:
        weights -= gradient


@dataclass(frozen=True)
class Elastic(Consistency[Serves | Averages]):
    """Every `period` steps all workers together pull the centre `spring` of the way to them."""

    period: int = 4
    spring: float = 0.9
    needs = (Serves, Averages)
    sends = "changes"

    def __post_init__(self) -> None:
        super().__post_init__()
        amount(self.spring, "Elastic: spring", zero=False, most=1)

    def service(self, rule: Update) -> Service:
        return Service(Pull(), bound=math.inf)

    def run(self, worker: AnyWorker[Serves | Averages]) -> None:
        handle, weights = worker.handle, worker.weights
        share = self.spring / handle.workers
        centre = weights.copy()
        for step in range(worker.steps):
            gradient = worker.gradient(step)
            if step % self.period == 0:
                if isinstance(handle, Serves):
                    handle.pull(centre)
                away = weights - centre
                weights -= share * away
                if isinstance(handle, Serves):
                    handle.push(-share * away)
                else:
                    handle.average(away)
                    centre += self.spring * away
            worker.update(gradient)
        if isinstance(handle, Serves):
            handle.pull(centre)
        weights[:] = centre
