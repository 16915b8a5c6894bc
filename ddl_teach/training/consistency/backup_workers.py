"""Backup workers: synchronous, but the slowest few of each step are not waited for.

    w -= rate * mean of the first P - extra gradients of the step

A step takes as long as the (P - extra)-th fastest gradient; the work of the others is lost, and
the step sees less data. It pays where workers are late by chance, each time others. Chen, Monga,
Bengio and Jozefowicz, "Revisiting distributed synchronous SGD", 2016.
What to look at: the servers' `report.dropped`; and that no update that counts is ever stale.
"""

from dataclasses import dataclass

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Serves, Service
from ddl_teach.training.consistency.served import follow_servers
from ddl_teach.training.optimizers.update import Update


@dataclass(frozen=True)
class BackupWorkers(Consistency[Serves]):
    """`extra` workers of each step may be late."""

    extra: int = 1
    needs = (Serves,)
    sends = "gradients"

    def service(self, rule: Update) -> Service:
        return Service(rule, bound=0, backups=self.extra)

    def run(self, worker: AnyWorker[Serves]) -> None:
        workers = worker.handle.workers
        if self.extra >= workers > 1:
            most = f"of {workers} workers at most {workers - 1} may be late"
            raise ValueError(f"{self}: {most}: take fewer, or Asynchronous()")
        follow_servers(worker)
