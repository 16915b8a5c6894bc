"""Stale-synchronous: no worker may be more than `bound` steps ahead of the slowest.

A gradient counts as soon as it arrives; after c steps a worker gets weights when the slowest has
made c - bound. With bound 0 the servers average each step's gradients, as an all-reduce would.
Above 0 every gradient is a step, P of them where the synchronous way makes one: the stable rate is
smaller, by the staleness and by the P. The bound hides short delays that hit each worker now and
then; a worker that is always slower still sets the pace of all. Ho et al. 2013.
What to look at: `report.staleness` of the servers: how old the weights of each gradient were.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Serves, Service
from ddl_teach.training.consistency.served import follow_servers
from ddl_teach.training.optimizers.update import Update


@dataclass(frozen=True)
class StaleSynchronous(Consistency[Serves]):
    """At most `bound` steps apart; `damp(staleness)` is a factor for each gradient."""

    bound: int = 2
    damp: Callable[[int], float] | None = None
    needs = (Serves,)
    sends = "gradients"

    def service(self, rule: Update) -> Service:
        return Service(rule, bound=self.bound, damp=self.damp)

    def run(self, worker: AnyWorker[Serves]) -> None:
        follow_servers(worker)
