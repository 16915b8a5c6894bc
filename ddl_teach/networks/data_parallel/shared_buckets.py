"""Buckets in memory that all ranks of a node see: added up where they lie, never sent.

When a bucket is full on all ranks, each adds up its P-th part of it, and writes the average into
the buckets of all (`collectives.shared_memory`).
Cost of n bytes, with c seconds per byte read or written: 2 n c to fill a bucket, 2 n c and two
fences to average it, and no message. Hoefler et al., "MPI + MPI: a new hybrid approach to parallel
programming", 2013.
What to look at: with as many ranks as cores no core is idle to hide messages on, and only fewer
copies help. The ledger holds no bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor, nn

from ddl_runtime.core.arrays import as_elements
from ddl_runtime.core.window import SharedMemory
from ddl_runtime.devices import device_of
from ddl_teach.collectives.shared_memory import allreduce_in_place
from ddl_teach.comm import Comm
from ddl_teach.networks.data_parallel.buckets import Bucket, grouped, room, views


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedBucket(Bucket):
    """A bucket whose `flat` is one of the `vectors` of all ranks, which all see."""

    memory: SharedMemory
    vectors: list[Tensor]


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
        memory = comm.shared_memory(like.nbytes)
        vectors = [as_elements(part, like) for part in memory.parts]
        own = vectors[comm.rank]
        places = views(own, group)
        buckets.append(SharedBucket(tuple(group), own, places, memory=memory, vectors=vectors))
    return buckets


def in_shared_memory(comm: Comm, bucket: SharedBucket) -> None:
    """Add up the buckets of all ranks, in place."""
    allreduce_in_place(comm, bucket.memory, bucket.vectors)
