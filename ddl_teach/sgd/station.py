"""A station: what a path gives each rank, and all that a WHEN sees of the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ddl_teach.sgd.rows import Rows


@dataclass(frozen=True)
class Shift:
    """What a server tells when its workers have left.

    `staleness[i]` belongs to the i-th update that came, of worker `workers[i]`: how many other
    updates were applied between the pull it was computed from and itself. `steps` were made,
    `dropped` updates came too late to count, and `events` are what went wrong, in words.
    """

    workers: tuple[int, ...] = ()
    staleness: tuple[int, ...] = ()
    steps: int = 0
    dropped: int = 0
    events: tuple[str, ...] = ()


class Station(Protocol):
    """A path has those of the verbs that it `offers`; all have a place and a way to leave."""

    worker: int | None  # this rank's number among the workers; None where it only serves
    workers: int
    serves: bool  # whether servers keep weights: push and pull

    def average(self, vector: np.ndarray) -> None:
        """The mean over all workers, in place."""

    def push(self, update: np.ndarray) -> None:
        """Send the servers an update."""

    def pull(self, weights: np.ndarray, rows: Rows | None = None) -> int:
        """Get the servers' weights, as soon as the service's bound allows; the clock to go on
        with: one more than the one pushed last, or later where one was overtaken. Of weights
        outside of `rows` nothing is promised."""

    def mix(self, vector: np.ndarray, step: int) -> None:
        """The weighted mean with the neighbours of this step, in place."""

    def serve(self) -> Shift:
        """On a rank that only serves: work until all workers have left."""

    def leave(self) -> None:
        """The worker is done; with servers it must say so."""
