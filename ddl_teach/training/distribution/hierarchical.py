"""Groups in front of the server: inside a group updates add up, and only leaders send to it.

The workers of a node, or a number of neighbours, form a group. Up a binomial tree their updates
become one sum; the leader pushes that to the server (rank 0), pulls weights and hands them down
the tree. For the server a group is one worker: inside all keep step, between groups the service's
bound holds. Sums are scaled so that all workers count alike where groups are unequal.

Cost for n bytes and P workers in groups of g: n P/g bytes come in at the server, instead of P n.
Two trees of ceil(log2 g) (latency + n / bandwidth) run inside the groups, on their own links.
Gupta, Zhang and Wang, "Model accuracy and runtime tradeoff in distributed deep learning: a
systematic study" (Rudra-adv), ICDM 2016; Hsieh et al., "Gaia", NSDI 2017, for servers far apart.
What to look at: `ledger.bytes_to(0)` is nothing on ranks that do not lead.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.collectives import tree
from ddl_teach.comm import Comm
from ddl_teach.theory.inputs import count
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.handles import Averages, Dedicated, Serves, Service
from ddl_teach.training.consistency.rows import Rows
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.distribution.server_state import OnlyRank, ServerHandle


@dataclass(frozen=True)
class Hierarchical(Distribution[ServerHandle]):
    """One server, and groups of `group` workers; None: the workers of each node."""

    group: int | None = None
    offers = (Averages, Serves)

    def __post_init__(self) -> None:
        if self.group is not None:
            count("group", self.group)

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> ServerHandle | Dedicated:
        if comm.size == 1:
            return OnlyRank(weights, compressor, service)
        worker = comm.rank - 1
        group = comm.node if self.group is None else worker // self.group
        inside = comm.split(None if worker < 0 else group)
        above = comm.split(0 if inside is None or inside.rank == 0 else None)
        handle = None if above is None else Server().open(above, weights, compressor, service)
        if isinstance(handle, Dedicated):
            return handle
        assert inside is not None, "whoever does not serve is in a group"
        return GroupMember(inside, handle, worker, comm.size - 1)


class GroupMember(ServerHandle):
    """A worker's handle; the first of a group leads it and has a place at the server."""

    def __init__(
        self, inside: Comm, above: ServerHandle | None, worker: int, workers: int
    ) -> None:
        self.worker, self.workers = worker, workers
        self._inside, self._above = inside, above

    def push(self, update: np.ndarray) -> None:
        total = update.copy()
        tree.reduce(self._inside, total)
        if self._above is not None:
            # The server takes the mean over groups: with this factor it is that over workers.
            total *= self._above.workers / self.workers
            self._above.push(total)

    def pull(self, weights: np.ndarray, rows: Rows | None = None) -> int:
        # Whole weights for the group: each member needs other rows.
        clock = np.zeros(1, np.int64)
        if self._above is not None:
            clock[0] = self._above.pull(weights)
        tree.broadcast(self._inside, weights)
        tree.broadcast(self._inside, clock)
        return int(clock[0])

    def leave(self) -> None:
        if self._above is not None:
            self._above.leave()
