"""Buckets in memory that all ranks of a node see: added up where they lie, never sent.

Rank r makes part r of the average. So it copies only the other parts of its gradients into shared
memory. When a bucket is full on all ranks, each adds the others' copies to its own part. It writes
the average into one vector, which all then read.
Cost, with c seconds per byte read or written: (3 - 1/P) n c and two fences for each bucket of n
bytes, and no message; to copy, add up and hand out everything would take twice that. Hoefler et
al., "MPI + MPI: a new hybrid approach to parallel programming", 2013.
What to look at: with as many ranks as cores no core is idle to hide messages on, and only fewer
copies help. The ledger holds no bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import nn

from ddl_runtime.core.arrays import as_elements
from ddl_runtime.core.window import SharedMemory
from ddl_runtime.devices import device_of
from ddl_teach.collectives.blocks import chunk_start
from ddl_teach.comm import Comm, Request
from ddl_teach.networks.data_parallel.buckets import Bucket, bucket, grouped, room
from ddl_teach.networks.missing import MISSING

TILE = 1 << 15  # elements that are added up while they stay in a cache
LINE = 64  # bytes: what different ranks write shares no cache line


class AveragedTile(NamedTuple):
    """A tile of a gradient that this rank averages."""

    where: slice  # in the gradient
    total: torch.Tensor  # where the average goes
    others: list[torch.Tensor]  # what the other ranks laid open of it


@dataclass(frozen=True, eq=False)
class SharedBucket:
    """A bucket whose `flat` is one copy for all ranks. `given` and `made` are its parts that this
    rank gives to others and averages. They are cut once, because for small gradients cutting takes
    longer than adding."""

    plain: Bucket
    memory: SharedMemory
    given: list[list[tuple[slice, torch.Tensor]]]  # of each gradient: what goes where, laid open
    made: list[list[AveragedTile]]
    own: dict[int, torch.Tensor] = field(default_factory=dict)  # gradients, while they wait

    @property
    def parameters(self) -> tuple[nn.Parameter, ...]:
        return self.plain.parameters

    def put(self, index: int, ranks: int) -> None:
        """Copy what other ranks need of a gradient into shared memory; keep the rest as it is."""
        parameter, place = self.plain.parameters[index], self.plain.places[index]
        if parameter.grad is None:
            gradient = torch.full_like(place, MISSING).reshape(-1)
            self.plain.absent.add(index)
        else:
            gradient = parameter.grad.reshape(-1)
            gradient[:1].add_(0.0)  # so that it is not taken for a missing one
        self.own[index] = gradient
        for where, laid_open in self.given[index]:
            laid_open.copy_(gradient[where])
        parameter.grad = place

    def forget_missing(self) -> None:
        self.plain.forget_missing()

    def average(self, ranks: int) -> None:
        """Average this rank's part of each gradient; all ranks must have called `put` before."""
        for index, gradient in self.own.items():
            for where, total, others in self.made[index]:
                torch.div(gradient[where], ranks, out=total)
                for other in others:
                    total.add_(other, alpha=1 / ranks)
        self.own.clear()


class UntilAllHaveAdded(Request):
    """The request of an average in shared memory: `wait` returns when all ranks have made their
    parts."""

    def __init__(self, rank: int, memory: SharedMemory) -> None:
        self._rank, self._memory = rank, memory
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
    buckets = []
    for group in grouped(parameters, nbytes):
        like = room(group)
        if device_of(like) is not None:
            where = f"on {like.device}, and ranks can share only the host's memory"
            raise ValueError(f"fill_shared: these parameters are {where}: use buckets.fill")
        size = -(-like.nbytes // LINE) * LINE
        memory = comm.shared_memory(2 * size)
        plain = bucket(group, as_elements(memory.parts[0][size : size + like.nbytes], like))
        laid_open = [as_elements(part[: like.nbytes], like) for part in memory.parts]
        given, made = _cut(plain, laid_open, comm.rank)
        buckets.append(SharedBucket(plain, memory, given, made))
    return buckets


def _cut(
    plain: Bucket, laid_open: list[torch.Tensor], rank: int
) -> tuple[list[list[tuple[slice, torch.Tensor]]], list[list[AveragedTile]]]:
    """The parts of each gradient that this rank gives away, and the tiles that it averages."""
    others = [flat for other, flat in enumerate(laid_open) if other != rank]
    length = len(plain.flat)
    first, last = (chunk_start(length, rank + end, len(laid_open)) for end in (0, 1))
    given, made, start = [], [], 0
    for place in plain.places:
        end = start + place.numel()
        given.append([
            (slice(low - start, high - start), laid_open[rank][low:high])
            for low, high in ((start, min(end, first)), (max(start, last), end))
            if low < high
        ])  # fmt: skip
        tiles = []
        for low in range(max(start, first), min(end, last), TILE):
            high = min(low + TILE, end, last)
            total, where = plain.flat[low:high], slice(low - start, high - start)
            tiles.append(AveragedTile(where, total, [flat[low:high] for flat in others]))
        made.append(tiles)
        start = end
    return given, made


def in_shared_memory(comm: Comm, bucket: SharedBucket) -> Request:
    """Wait until the bucket is full on all ranks, and make this rank's part of the average."""
    bucket.memory.fence()
    bucket.average(comm.size)
    return UntilAllHaveAdded(comm.rank, bucket.memory)
