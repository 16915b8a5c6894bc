"""A WHEN: one worker's whole training, and what it needs of the path under it.

=========== ================================ =================================================
needs       what the path's station then has who needs it
=========== ================================ =================================================
average     average(vector)                  synchronous, local and its kin, consensus, K-FAC
serve       push(update), pull(weights)      stale-synchronous, asynchronous, backup workers
serve or average, as there is                elastic averaging
mix         mix(vector, step)                gossip
mix_changes mix_changes(vector, step, pull)  compressed gossip
push_sum    push_sum(vector, mass, step)     push-sum
meet        meetings(vector, ...)            asynchronous gossip
share       shared                           lock-free
=========== ================================ =================================================

Whatever else a WHEN has are its settings. What it `sends` decides in which forms that may travel:
a gradient or a change of weights may lose nearly all of its entries, weights themselves and the
factors of curvature may not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from ddl_teach.networks.memory.updates import Update
from ddl_teach.sgd.service import Service
from ddl_teach.sgd.task import Task

if TYPE_CHECKING:
    from ddl_teach.sgd.worker import Worker


class When(Protocol):
    """Frozen settings, and how one worker trains with them."""

    needs: ClassVar[tuple[str, ...]]  # any one of these is enough
    sends: ClassVar[str]  # "gradients", "changes", "weights" or "curvature"

    def service(self, rule: Update) -> Service:
        """What dedicated servers do meanwhile, where the path has any: average what comes."""
        return Service()

    def travels(self, task: Task, weights: np.ndarray) -> np.ndarray:
        """A vector like those that will travel: most often one like the weights."""
        return weights

    def run(self, worker: Worker) -> None:
        """Train; at the end `worker.weights` are what this WHEN calls its result."""
