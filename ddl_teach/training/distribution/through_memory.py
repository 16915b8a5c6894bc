"""Updates through memory that a worker and its server share: no message carries them.

The worker writes a block of its update while the server steps straight from the block before: two
cores work at once, and the blocks stay in a cache. Where a step is plain SGD the worker multiplies
by the rate while it copies, and the server only adds.

Cost for n bytes, with c seconds per byte read or written and f per fence: 3 n c on the slower of
the two cores, and f for each block; a message costs the kernel's copy, and then the step.
What to look at: kind "put" in the ledger of real ranks. Simulated ones send messages instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ddl_runtime.core.arrays import Array
from ddl_teach.collectives.shared_memory import SharedBlocks
from ddl_teach.comm import Comm
from ddl_teach.training.compression.compressor import all_finite, checked
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.optimizers.settings import States
from ddl_teach.training.optimizers.sgd import SGD

BLOCK = 1 << 20  # bytes: two of them leave the server's own cache, from where others read slowly


@dataclass(frozen=True)
class Sum:
    """The rule of a server whose workers have multiplied their gradients by the rate."""

    states: ClassVar[int] = 0
    elementwise: ClassVar[bool] = False  # it makes nothing on the way: whole blocks

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        weights += gradient


def shared_out(service: Service) -> tuple[float, Service]:
    """By what a worker multiplies its updates, and what is left for the server."""
    rule = service.rule
    if type(rule) is not SGD or callable(rule.rate):
        return 1.0, service
    return -rule.rate, replace(service, rule=Sum())


class Passages:
    """The memory that each worker shares with each server; all ranks make it together."""

    def __init__(self, comm: Comm, servers: int, service: Service) -> None:
        self._comm = comm
        self._scale, _ = shared_out(service)
        rule = service.rule
        # What counts at once the server takes block by block.
        self._in_blocks = service.bound > 0 and (rule is None or rule.elementwise)
        serves = comm.rank < servers
        # Kept from training to training, since MPI gives it back when the program ends.
        self._kept: dict[tuple[int, int], SharedBlocks] = comm.attributes.setdefault(Passages, {})
        for other in range(servers, comm.size) if serves else range(servers):
            pair = (comm.rank, other) if serves else (other, comm.rank)
            if pair not in self._kept:
                memory = comm.subgroup(pair).shared_memory(2 * BLOCK)
                self._kept[pair] = SharedBlocks(memory)

    def put(self, server: int, update: np.ndarray) -> None:
        """Write an update, block by block; the server takes each one."""
        through = self._kept[server, self._comm.rank]
        for block in _blocks(update):
            if not all_finite(block):
                checked(update)
            np.multiply(block, self._scale, out=through.next_block(block)[0])
            through.fence()
        context = self._comm.context
        context.ledger.append((context.members[server], 0, update.nbytes, "put"))

    def take(self, worker: int, like: np.ndarray) -> Iterator[np.ndarray] | np.ndarray:
        """The update that the rank `worker` puts: its blocks, each of which is gone with the next,
        or the whole of it."""
        blocks = self._take(self._kept[self._comm.rank, worker], like)
        if self._in_blocks:
            return blocks
        return np.concatenate([np.empty(0, like.dtype), *(block.copy() for block in blocks)])

    def _take(self, through: SharedBlocks, like: np.ndarray) -> Iterator[np.ndarray]:
        for block in _blocks(like):
            written = through.next_block(block)[0]
            through.fence()
            yield written


def _blocks(vector: np.ndarray) -> Iterator[np.ndarray]:
    width = BLOCK // vector.itemsize
    for start in range(0, len(vector), width):
        yield vector[start : start + width]
