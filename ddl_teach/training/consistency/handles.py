"""Between a consistency and its distribution stand handles and servers: what both do.

Each verb of a worker's handle is a Protocol: a consistency says which it needs, a distribution
which it offers. A verb of one consistency only stands beside it, such as `push_sum.PushesSums`.

A server keeps weights (or a part of them) and counts its workers' clocks: how many updates each
has pushed. Most consistencies differ in one number, the clocks by which the fastest may be ahead:

    bound = 0         synchronous: the updates of one clock are averaged and applied once
    bound = s         stale-synchronous: each update counts at once; a worker s ahead waits
    bound = infinity  asynchronous: none ever waits
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from ddl_teach.training.consistency.rows import Rows
from ddl_teach.training.optimizers.update import Update


@dataclass(frozen=True)
class Service:
    """`rule` updates the servers' weights; without one they only average what they get."""

    rule: Update | None = None
    bound: float = 0
    backups: int = 0  # how many last updates of a clock are dropped, not waited for
    damp: Callable[[int], float] | None = None  # a factor for an update, by its staleness


@dataclass(frozen=True)
class ServerReport:
    """What a server returns when its workers have left."""

    workers: tuple[int, ...] = ()  # the worker of the first update, the second, ...
    staleness: tuple[int, ...] = ()  # how many others were applied since its weights were pulled
    steps: int = 0
    dropped: int = 0  # updates that came too late to count
    events: tuple[str, ...] = ()  # what went wrong, in words


class SyncHandle(Protocol):
    """A worker's handle on a distribution."""

    worker: int  # this rank's number among the workers
    workers: int

    def leave(self) -> ServerReport | None:
        """Say that the worker is done; returns what only its own rank has counted."""
        return None


@runtime_checkable
class Averages(SyncHandle, Protocol):
    """A handle to all workers together."""

    def average(self, vector: np.ndarray) -> None:
        """Replace `vector` by its mean over all workers."""


@runtime_checkable
class Serves(SyncHandle, Protocol):
    """Servers keep the weights."""

    def push(self, update: np.ndarray) -> None:
        """Send the servers an update."""

    def pull(self, weights: np.ndarray, rows: Rows | None = None) -> int:
        """Get the servers' weights, or these rows of them, as soon as the service's bound allows.
        Returns the worker's next clock: later than its own if other workers have overtaken it."""


@runtime_checkable
class Mixes(SyncHandle, Protocol):
    """A handle to neighbours on a graph."""

    def mix(self, vector: np.ndarray, step: int) -> None:
        """Replace `vector` by the weighted mean of this step's neighbours and itself."""


@runtime_checkable
class Dedicated(Protocol):
    """The handle of a rank that only serves."""

    worker: None

    def serve(self) -> ServerReport:
        """Work until all workers have left."""


class Requirements(Protocol):
    """What a consistency needs of a distribution and of a compressor."""

    needs: ClassVar[tuple[type, ...]]  # verbs of a handle: any one of these is enough
    sends: ClassVar[Literal["gradients", "changes", "fragments", "weights", "curvature"]]

    def service(self, rule: Update) -> Service:
        """What the servers do, if there are any: by default they average what they get."""
        return Service()
