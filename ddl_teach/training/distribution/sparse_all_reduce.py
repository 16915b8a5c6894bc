"""Sparse all-reduce: compressors that send a few entries only, added up as streams on the way.

Cost: by recursive doubling log2 P messages of up to P k entries; gathering all ranks' k entries
instead would always send (P-1) k. Where the ranks' entries fall on the same places the sum is
hardly longer than each part of it. Where it fills in, the streams turn dense. Renggli et al.,
"SparCML", SC 2019.
What to look at: the mean has more entries than any rank sent; `theory.sparse` says how many more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ddl_runtime.core.checks import one_of
from ddl_teach.collectives.sparse import dense_second_phase, recursive_doubling, split_allgather
from ddl_teach.collectives.sparse.stream import Stream
from ddl_teach.comm import Comm
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.handles import Averages, Requirements, Service
from ddl_teach.training.consistency.streaming_diloco import BeginsAverages
from ddl_teach.training.distribution.all_reduce import AllReduceHandle
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.optimizers.update import Update

WAYS: dict[str, Callable[..., Stream]] = {
    "recursive_doubling": recursive_doubling.allreduce,
    "split_allgather": split_allgather.allreduce,
    "dense_second_phase": dense_second_phase.allreduce,
}


@dataclass(frozen=True)
class SparseAllReduce(Distribution[AllReduceHandle]):
    """Averages by one of three ways; the dense second phase may have a `second` compressor."""

    way: str = "recursive_doubling"
    second: Compressor | None = None
    offers = (Averages, BeginsAverages)

    def __post_init__(self) -> None:
        one_of(self.way, "way of SparseAllReduce", WAYS)
        if self.second is not None and self.way != "dense_second_phase":
            none = f"{self.way} has no second phase with a compressor"
            raise ValueError(f"SparseAllReduce: {none}, only dense_second_phase has")

    def objection(
        self, consistency: Requirements, compressor: Compressor, update: Update | None
    ) -> str | None:
        if compressor.sparse:
            second = self.second
            return None if second is None else second.objection(consistency.sends, update)
        every = "it adds up lists of entries, and this compressor sends every entry"
        return f"{every}: take TopK(0.01), NonZero() where gradients are sparse, or AllReduce()"

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> AllReduceHandle:
        stream = compressor.stream(comm.rank)
        allreduce = WAYS[self.way]
        if self.second is not None:
            allreduce = partial(allreduce, encoder=self.second.stream(comm.size + comm.rank))

        def average(own: Comm, vector: np.ndarray) -> None:
            listed = Stream.listed(len(vector), *stream.select(vector))
            vector[:] = allreduce(own, listed).dense() / comm.size

        return AllReduceHandle(comm, lambda own: partial(average, own))
