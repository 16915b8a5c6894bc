"""Buckets in memory that all ranks of a node see: added up where they lie, never sent.

A gradient is copied once, from where the backward pass left it to its rank's bucket in shared
memory. When a bucket is full on all ranks, each adds up its P-th part of everybody's and writes
the sum back to all of them.
Cost, with c seconds per byte read or written: 2 n c and two fences for each bucket of n bytes, no
message at all. Hoefler et al., "MPI + MPI: a new hybrid approach to parallel programming", 2013.
What to look at: where ranks and cores are equally many, no core is idle to hide messages on, and
only fewer copies help. The ledger holds no bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from ddl_teach.comm import Comm, Request
from ddl_teach.comm.arrays import as_elements, split_evenly
from ddl_teach.comm.shared_memory import SharedMemory
from ddl_teach.networks.data_parallel.buckets import Bucket, bucket, grouped, room

TILE = 1 << 15  # elements that are added up while they stay in a cache


@dataclass(frozen=True, eq=False)
class SharedBucket(Bucket):
    """A bucket, and those of all ranks with the same gradients."""

    memory: SharedMemory
    everybodys: list[torch.Tensor]


class UntilAllHaveAdded(Request):
    """A sum in shared memory, of which each rank makes a part."""

    def __init__(self, comm: Comm, memory: SharedMemory) -> None:
        self._rank, self._memory = comm.rank, memory
        self.waited = False

    def wait(self) -> int:
        if not self.waited:
            self.waited = True
            self._memory.fence()
        return self._rank


def fill_shared(
    comm: Comm, parameters: Iterable[nn.Parameter], nbytes: float
) -> list[SharedBucket]:
    """Buckets as `buckets.fill` makes them, in shared memory; all ranks of the node call it."""
    made = []
    for group in grouped(parameters, nbytes):
        like = room(group)
        memory = comm.shared_memory(like.nbytes)
        everybodys = [as_elements(part, like) for part in memory.parts]
        mine = bucket(group, everybodys[comm.rank])
        made.append(SharedBucket(mine.parameters, mine.flat, mine.places, memory, everybodys))
    return made


def in_shared_memory(comm: Comm, bucket: SharedBucket) -> Request:
    """Wait until everybody's bucket is full and add up this rank's part, for all to read."""
    bucket.memory.fence()
    own, *others = (split_evenly(flat, comm.size)[comm.rank] for flat in bucket.everybodys)
    for start in range(0, len(own), TILE):
        total = own[start : start + TILE]
        for other in others:
            total.add_(other[start : start + TILE])
        for other in others:
            other[start : start + TILE].copy_(total)
    return UntilAllHaveAdded(comm, bucket.memory)
