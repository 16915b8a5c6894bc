"""Asynchronous: no worker waits for another.

    w -= rate * g_i(weights as they were when worker i fetched them)

Each gradient is a step, and while a worker computes it the others make about P - 1: so old are its
weights. No time is lost, but the largest stable rate falls like one over the staleness. With
`damp=inverse` a rate that is right for one worker stays stable for any number, and a slow worker's
very old gradients hardly count. Dean et al. 2012 (Downpour); for `inverse` Zhang, Gupta, Lian and
Liu, "Staleness-aware async-SGD for distributed deep learning", IJCAI 2016.
What to look at: `report.staleness` is P - 1 on average, and a slow worker's is far more.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Serves, Service
from ddl_teach.training.consistency.served import follow_servers
from ddl_teach.training.optimizers.update import Update


@dataclass(frozen=True)
class Asynchronous(Consistency[Serves]):
    """`damp(staleness)` is a factor for each gradient; without it every gradient counts alike."""

    damp: Callable[[int], float] | None = None
    needs = (Serves,)
    sends = "gradients"

    def service(self, rule: Update) -> Service:
        return Service(rule, bound=math.inf, damp=self.damp)

    def run(self, worker: AnyWorker[Serves]) -> None:
        follow_servers(worker)


def inverse(staleness: int) -> float:
    """One over the staleness, at most one.

    >>> inverse(0), inverse(1), inverse(4)
    (1.0, 1.0, 0.25)
    """
    return 1.0 / max(1, staleness)
