"""A consistency: one worker's whole training, and what it needs of worker and distribution.

============ ================================ =================================================
needs        the verb that the handle has     used by
============ ================================ =================================================
Averages     average(vector)                  synchronous, local and its kin, consensus, K-FAC
BeginsAverages begin_average(vector)           streaming DiLoCo
Serves       push(update), pull(weights)      stale-synchronous, asynchronous, backup workers
either       Averages or Serves               elastic averaging
Mixes        mix(vector, step)                gossip, NoLoCo
MixesChanges mix_changes(vector, step, pull)  compressed gossip
PushesSums   push_sum(vector, mass, step)     push-sum
Meets        meetings(vector, ...)            asynchronous gossip
Shares       shared                           lock-free
============ ================================ =================================================

All else that a consistency has are settings. What it `sends` decides which compressors may be
used: a gradient or a change of weights may lose nearly all entries, weights and curvature may not.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from ddl_runtime.core.checks import whole_number
from ddl_teach.comm import Comm
from ddl_teach.training.consistency.handles import Requirements, SyncHandle
from ddl_teach.training.consistency.rows import Rows

OwnHandle = TypeVar("OwnHandle", bound=SyncHandle, covariant=True)
NeededHandle = TypeVar("NeededHandle", bound=SyncHandle, contravariant=True)
Answer = TypeVar("Answer")
# Asked of a task: (weights, part, parts, step) to the loss on that share, and what one wants.
Question = Callable[[np.ndarray, int, int, int], tuple[float, Answer]]
LEAST = {"period": 1, "switch": 0, "extra": 0, "bound": 0}  # of settings that count steps, workers


class AnyWorker(Protocol[OwnHandle]):
    """What a consistency sees of a worker: `worker.Worker`, or whatever can do the same."""

    weights: np.ndarray
    steps: int  # how many gradients it computes
    staleness: list[int]  # of its updates, where no server counts it

    @property
    def handle(self) -> OwnHandle:
        """The worker's handle on the distribution."""

    @property
    def task(self) -> object:
        """The worker's task, for a consistency that needs more than gradients."""

    def gradient(
        self, step: int, weights: np.ndarray | None = None, comm: Comm | None = None
    ) -> np.ndarray:
        """The gradient of this worker's share of minibatch `step`, at its own weights or at
        `weights`; a new vector. A background function gives the communicator that it runs on."""

    def ask(self, question: Question[Answer], step: int) -> Answer:
        """The answer to another question about the same share, in place of the gradient."""

    def common_loss(self, weights: np.ndarray) -> float:
        """The loss of a few samples that are the same for all workers."""

    def needed(self, step: int) -> Rows | None:
        """The rows of the weights that gradient `step` uses; None: perhaps all."""

    def update(self, gradient: np.ndarray) -> None:
        """One step of the rule, on this worker's own weights."""

    def update_at(self, indices: np.ndarray, values: np.ndarray) -> None:
        """One step of the rule for a gradient that is zero outside of these places."""


@runtime_checkable
class Consistency(Requirements, Protocol[NeededHandle]):
    """Frozen settings, and how one worker trains with them."""

    def __post_init__(self) -> None:
        for name in LEAST.keys() & vars(self).keys():
            whole_number(vars(self)[name], f"{type(self).__name__}: {name}", LEAST[name])

    def travels(self, task: object, weights: np.ndarray) -> np.ndarray:
        """A vector of the length and type of those that will be sent; by default the weights."""
        return weights

    def run(self, worker: AnyWorker[NeededHandle]) -> None:
        """Train; at the end `worker.weights` are what this consistency calls its result."""
