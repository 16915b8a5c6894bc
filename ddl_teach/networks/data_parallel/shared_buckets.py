"""Buckets in memory that all ranks of a node see: added up where they lie, never sent.

Rank r makes part r of the average. So of each gradient it lays open only what the others need, the
other parts; when a bucket is full on all ranks, each adds what they laid open to its own part and
writes the average into one copy, which all ranks then read.
Cost, with c seconds per byte read or written: (3 - 1/P) n c and two fences for each bucket of n
bytes, and no message at all; to copy, to add up and to hand out everything would take twice that.
Hoefler et al., "MPI + MPI: a new hybrid approach to parallel programming", 2013.
What to look at: where ranks and cores are equally many, no core is idle to hide messages on, and
only fewer copies help. The ledger holds no bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

import torch
from torch import nn

from ddl_teach.collectives.blocks import chunk_start
from ddl_teach.comm import Comm, Request
from ddl_teach.comm.arrays import as_elements
from ddl_teach.comm.shared_memory import SharedMemory
from ddl_teach.networks.data_parallel.buckets import Bucket, bucket, grouped, room

TILE = 1 << 15  # elements that are added up while they stay in a cache
LINE = 64  # bytes: what different ranks write shares no cache line


@dataclass(frozen=True, eq=False)
class SharedBucket(Bucket):
    """A bucket whose `flat` is one copy for all ranks, and what each rank lays open for it."""

    memory: SharedMemory
    open: list[torch.Tensor]  # by rank, as long as `flat`
    rank: int
    own: dict[int, torch.Tensor] = field(default_factory=dict)  # gradients, while they wait

    @property
    def starts(self) -> list[int]:
        """Where each gradient begins in `flat`, and the end."""
        return list(accumulate((place.numel() for place in self.places), initial=0))

    @property
    def part(self) -> tuple[int, int]:
        """What of `flat` this rank makes: from where to where."""
        ranks, length = len(self.open), len(self.flat)
        return chunk_start(length, self.rank, ranks), chunk_start(length, self.rank + 1, ranks)

    def put(self, index: int, ranks: int) -> None:
        """Lay open what others need of a gradient; keep the rest as it is."""
        parameter, place = self.parameters[index], self.places[index]
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(place)
        gradient = self.own[index] = parameter.grad.reshape(-1)
        start, end = self.starts[index : index + 2]
        first, last = self.part
        for low, high in ((start, min(end, first)), (max(start, last), end)):
            if low < high:
                self.open[self.rank][low:high] = gradient[low - start : high - start]
        parameter.grad = place

    def average(self) -> None:
        """This rank's part, once all ranks have laid theirs open."""
        first, last = self.part
        others = [flat for rank, flat in enumerate(self.open) if rank != self.rank]
        for index, gradient in self.own.items():
            start, end = self.starts[index : index + 2]
            for low in range(max(start, first), min(end, last), TILE):
                high = min(low + TILE, end, last)
                total = self.flat[low:high].copy_(gradient[low - start : high - start])
                for other in others:
                    total.add_(other[low:high])
                total.div_(len(self.open))
        self.own.clear()


class UntilAllHaveAdded(Request):
    """An average in shared memory, of which each rank makes a part."""

    def __init__(self, bucket: SharedBucket) -> None:
        self._bucket = bucket
        self.waited = False

    def wait(self) -> int:
        if not self.waited:
            self.waited = True
            self._bucket.memory.fence()
        return self._bucket.rank


def fill_shared(
    comm: Comm, parameters: Iterable[nn.Parameter], nbytes: float
) -> list[SharedBucket]:
    """Buckets as `buckets.fill` makes them, in shared memory; all ranks of the node call it."""
    made = []
    for group in grouped(parameters, nbytes):
        like = room(group)
        size = -(-like.nbytes // LINE) * LINE
        memory = comm.shared_memory(2 * size)
        mine = bucket(group, as_elements(memory.parts[0][size : size + like.nbytes], like))
        laid_open = [as_elements(part[: like.nbytes], like) for part in memory.parts]
        made.append(
            SharedBucket(mine.parameters, mine.flat, mine.places, memory, laid_open, comm.rank)
        )
    return made


def in_shared_memory(comm: Comm, bucket: SharedBucket) -> Request:
    """Wait until the bucket is full on all ranks, and make this rank's part of the average."""
    bucket.memory.fence()
    bucket.average()
    return UntilAllHaveAdded(bucket)
