"""Groups in front of the server: inside a group updates add up, and only leaders speak to it.

The workers of a node, or so many neighbours, form a group. Up a binomial tree inside it the
updates become one sum; its leader pushes that to the server (rank 0), pulls weights and hands them
down the tree. For the server a group is one worker: within it all keep step, between groups the
service's bound holds. Sums are scaled so that all workers count alike where groups are unequal.

Cost for n bytes and P workers in groups of g: n P/g come in at the server, where P n did, and two
trees of ceil(log2 g) (latency + n / bandwidth) inside the groups, on their own links.
Gupta, Zhang and Wang, "Model accuracy and runtime tradeoff in distributed deep learning: a
systematic study" (Rudra-adv), ICDM 2016; Hsieh et al., "Gaia", NSDI 2017, for servers far apart.
What to look at: `ledger.bytes_to(0)` is nothing on ranks that do not lead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ddl_teach.collectives import tree
from ddl_teach.comm import Comm
from ddl_teach.exchange.forms.form import Form, at_least_one
from ddl_teach.exchange.paths.alone import Alone
from ddl_teach.exchange.paths.server import Served, Server, Serving
from ddl_teach.sgd.rows import Rows
from ddl_teach.sgd.service import Service


@dataclass(frozen=True)
class Hierarchical:
    """One server, and groups of `group` workers; None: the workers of each node."""

    group: int | None = None
    offers: ClassVar[tuple[str, ...]] = ("average", "serve")

    def __post_init__(self) -> None:
        if self.group is not None:
            at_least_one("group", self.group)

    def open(
        self, comm: Comm, weights: np.ndarray, form: Form, service: Service
    ) -> Member | Serving | Alone:
        """This rank's station."""
        if comm.size == 1:
            return Alone(weights, form, service)
        worker = comm.rank - 1
        group = comm.node if self.group is None else worker // self.group
        inside = comm.split(None if worker < 0 else group)
        leads = inside is None or inside.rank == 0
        above = comm.split(0 if leads else None)
        station = Server().open(above, weights, form, service) if leads else None
        if inside is None:
            return station
        return Member(inside, station, worker, comm.size - 1)


class Member:
    """A worker's station; the first of a group leads it and has a place at the server."""

    serves = True

    def __init__(self, inside: Comm, above: Served | None, worker: int, workers: int) -> None:
        self.worker, self.workers = worker, workers
        self._inside = inside
        self._above = above

    def push(self, update: np.ndarray) -> None:
        """Add the group's updates up, and hand in what they come to."""
        total = update.copy()
        tree.reduce(self._inside, total)
        if self._above is not None:
            # The server takes the mean over groups: with this factor it is that over workers.
            total *= self._above.workers / self.workers
            self._above.push(total)

    def pull(self, weights: np.ndarray, rows: Rows | None = None) -> int:
        """Fill `weights` in the whole group, for each member needs other rows; returns the clock
        to go on from."""
        clock = np.zeros(1, np.int64)
        if self._above is not None:
            clock[0] = self._above.pull(weights)
        tree.broadcast(self._inside, weights)
        tree.broadcast(self._inside, clock)
        return int(clock[0])

    def average(self, vector: np.ndarray) -> None:
        """The mean over all workers, in place: of a server without a rule."""
        self.push(vector)
        self.pull(vector)

    def leave(self) -> None:
        """Say that there is nothing more to come from this group."""
        if self._above is not None:
            self._above.leave()
