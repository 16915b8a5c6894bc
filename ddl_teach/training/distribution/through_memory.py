"""Updates through memory that a worker and its server share: no message carries them.

The worker writes a block of its update while the server steps straight from the block before: two
cores work at once, and the blocks stay in a cache. Where each update is a step of plain SGD the
worker multiplies by the rate as it copies, and the server only adds.

Cost for n bytes, c seconds per byte read or written and f per fence: 3 n c on the slower of the
two cores, and f for each block. A message would be copied by the kernel, and the step come after.
What to look at: kind "put" in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ddl_runtime.core.arrays import Array
from ddl_teach.collectives.shared_memory import SharedBlocks
from ddl_teach.comm import Comm
from ddl_teach.training.compression.compressor import checked
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.handles import Requirements, Service
from ddl_teach.training.distribution.server import Sharded
from ddl_teach.training.distribution.server_state import pieces
from ddl_teach.training.optimizers.settings import States
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.optimizers.update import Update

BLOCK = 1 << 20  # bytes: two are more than one core's own cache, out of which others read slowly


@dataclass(frozen=True)
class Sum:
    """The rule of a server whose workers multiply by the rate."""

    states = 0
    elementwise = True

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        weights += gradient


@dataclass(frozen=True)
class SharedMemoryServer(Sharded):
    """As `Server`, or as `Sharded` with several; on simulated ranks, or where ranks are on several
    nodes, updates travel in messages."""

    servers: int = 1

    def objection(
        self, consistency: Requirements, compressor: object, update: Update | None
    ) -> str | None:
        if not isinstance(compressor, Dense):
            return "in shared memory lie plain numbers, no messages: take Dense(), or Server()"
        if self.late:
            return "all ranks make shared memory together, and late ones come later: take Server()"
        return super().objection(consistency, compressor, update)

    def carrier(self, comm: Comm, service: Service) -> Passages | None:
        if comm.virtual_time or comm.split(comm.node).size < comm.size:
            return None
        return Passages(comm, self.servers, service)


class Passages:
    """The memory that each worker shares with each server, which all ranks make together;
    `service` is what is left for the servers to do."""

    def __init__(self, comm: Comm, servers: int, service: Service) -> None:
        rule = service.rule
        # What counts at once the server takes block by block.
        self._at_once = service.bound > 0 and (rule is None or rule.elementwise)
        self._scale, self.service = 1.0, service
        adds = self._at_once and service.damp is None
        if adds and isinstance(rule, SGD) and not callable(rule.rate):
            self._scale, self.service = -rule.rate, replace(service, rule=Sum())
        self._context = comm.context
        serves = comm.rank < servers
        self._shared: dict[int, SharedBlocks] = {}  # by the other rank
        # MPI gives memory back when the program ends: the next training takes the same.
        kept = comm.attributes.setdefault(Passages, {})
        for other in range(servers, comm.size) if serves else range(servers):
            pair = (comm.rank, other) if serves else (other, comm.rank)
            if pair not in kept:
                kept[pair] = SharedBlocks(comm.subgroup(pair).shared_memory(2 * BLOCK))
            self._shared[other] = kept[pair]

    def put(self, server: int, update: np.ndarray) -> None:
        """Write an update, block by block, while the server takes it. Zeros are written in place
        of a block that is refused: the server waits for it."""
        shared, begin, refused = self._shared[server], 0, None
        for block in pieces(update, BLOCK // update.itemsize):
            room = shared.next_block(block)[0]
            try:
                np.multiply(checked(block, begin), self._scale, out=room)
            except ValueError as error:
                room[...], refused = 0, refused or error
            shared.fence()
            begin += len(block)
        if refused is not None:
            raise refused
        self._context.ledger.append((self._context.members[server], 0, update.nbytes, "put"))

    def take(self, worker: int, like: np.ndarray) -> np.ndarray | Iterator[np.ndarray]:
        """The update that the rank `worker` puts: its blocks, each of which is gone with the next,
        or the whole of it."""
        blocks = self._blocks(self._shared[worker], like)
        if self._at_once:
            return blocks
        return np.concatenate([like[:0], *(block.copy() for block in blocks)])

    def _blocks(self, shared: SharedBlocks, like: np.ndarray) -> Iterator[np.ndarray]:
        for block in pieces(like, BLOCK // like.itemsize):
            written = shared.next_block(block)[0]
            shared.fence()
            yield written
