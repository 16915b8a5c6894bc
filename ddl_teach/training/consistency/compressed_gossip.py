"""Compressed gossip (CHOCO-SGD): each rank keeps copies of its neighbours; only changes travel.

    q_i = C(x_i - known_i)                known_i is what the neighbours have of x_i
    known_j += q_j                        for oneself and for each neighbour
    x_i += pull * sum over j of W_ij (known_j - known_i)  -  rate * g_i

Weights must not lose entries, but their changes may: what is left out now stays a difference and
is sent later. Memory: a vector for each neighbour. `pull` below 1 keeps ranks from following old
copies; with a compressor that loses nothing, 1 is plain gossip. Koloskova, Stich and Jaggi,
"Decentralized stochastic optimization and gossip algorithms with compressed communication", ICML
2019. What to look at: a hundredth of the bytes, and ranks that stay further apart.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import SyncHandle


@runtime_checkable
class MixesChanges(SyncHandle, Protocol):
    """A handle to neighbours that keep a copy of this rank's vector."""

    def mix_changes(self, vector: np.ndarray, step: int, pull: float) -> None:
        """Add to `vector`, in place, `pull` times the weighted differences between the known
        copies of the neighbours' vectors and of its own."""


@dataclass(frozen=True)
class CompressedGossip(Consistency[MixesChanges]):
    """Gossip whose messages may be in any compressor, on a graph that does not change."""

    pull: float = 0.1
    needs = (MixesChanges,)
    sends = "changes"

    def __post_init__(self) -> None:
        amount(self.pull, "pull, a part of the way,", zero=False, most=1)

    def run(self, worker: AnyWorker[MixesChanges]) -> None:
        for step in range(worker.steps):
            gradient = worker.gradient(step)
            worker.handle.mix_changes(worker.weights, step, self.pull)
            worker.update(gradient)
        worker.handle.mix_changes(worker.weights, worker.steps, self.pull)
