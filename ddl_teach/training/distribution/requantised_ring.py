"""A ring that adds up compressed chunks: each hop decodes, adds its own, and encodes again.

Cost: 2 (P-1)/P m bytes a rank for messages of m bytes, no more than `AllReduce` sends with the
same compressor. But each chunk's sum is rounded P times, where `AllReduce` sends every rank's part
to the owner, which rounds the mean once (Wang et al., "ZeRO++", 2023).
What to look at: the error grows with the ranks; `theory.quantised` says how.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ddl_runtime.core.arrays import split_evenly
from ddl_teach.comm import Comm
from ddl_teach.training.compression.averaging import round_the_ring, way_of
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.handles import Averages, Requirements, Service
from ddl_teach.training.consistency.streaming_diloco import BeginsAverages
from ddl_teach.training.distribution.all_reduce import AllReduceHandle
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.optimizers.update import Update


@dataclass(frozen=True)
class RequantisedRing(Distribution[AllReduceHandle]):
    """Averages by a ring whose partial sums travel compressed."""

    offers = (Averages, BeginsAverages)

    def objection(
        self, consistency: Requirements, compressor: Compressor, update: Update | None
    ) -> str | None:
        if way_of(compressor, 1) == "owners":
            return None
        why = "it rounds sums anew at each hop, and messages of this compressor add up as they are"
        if not compressor.sums:
            why = "all know the length of each message, and this compressor's lengths vary"
        return f"{why}: take Blocks() or QSGD(), or the distribution AllReduce()"

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> AllReduceHandle:
        rank, ranks = comm.rank, comm.size
        sizes = [len(part) for part in split_evenly(weights, ranks)]
        lengths = [int(compressor.nbytes(size) or 0) for size in sizes]
        streams = [compressor.stream(rank + ranks * step) for step in range(ranks)]

        def average(comm: Comm, vector: np.ndarray) -> None:
            parts = split_evenly(vector.astype(float), ranks)
            for step in range(1, ranks):
                outgoing, incoming = (rank - step) % ranks, (rank - step - 1) % ranks
                arriving = np.empty(lengths[incoming], np.uint8)
                message = streams[step].encode(parts[outgoing])
                comm.sendrecv(message, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
                parts[incoming] += compressor.decode(arriving, sizes[incoming])
            answer = streams[0].encode(parts[rank] / ranks)
            answers = round_the_ring(comm, answer, lengths)
            for part, size, mean in zip(split_evenly(vector, ranks), sizes, answers, strict=True):
                part[:] = compressor.decode(mean, size)

        return AllReduceHandle(comm, lambda own: partial(average, own))
