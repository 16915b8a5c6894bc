"""All-reduce: no server, every rank is a worker, and all compute the mean together.

Cost: that of the collective, any of ours or one's own; by ring 2 (P-1)/P n bytes for each rank,
where a server takes in P n. Patarasuk and Yuan 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.arrays import Array
from ddl_runtime.core.line import Line
from ddl_teach.collectives import registry
from ddl_teach.comm import Comm, Request
from ddl_teach.training.compression.averaging import Average, averager
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.handles import Averages, Service
from ddl_teach.training.consistency.streaming_diloco import BeginsAverages
from ddl_teach.training.distribution.distribution import Distribution


@dataclass(frozen=True)
class AllReduce(Distribution["AllReduceHandle"]):
    """Averages by an algorithm of `collectives.registry`, or by a function of (comm, x)."""

    algorithm: str | Callable[[Comm, Array], None] = "ring"
    offers = (Averages, BeginsAverages)

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> AllReduceHandle:
        allreduce = self.algorithm
        if isinstance(allreduce, str):
            allreduce = registry.function(allreduce, "allreduce")
        return AllReduceHandle(
            comm, lambda own: averager(own, compressor, weights.size, allreduce)
        )


class AllReduceHandle(Averages, BeginsAverages):
    """A worker's handle where all ranks are workers; `make(comm)` returns what averages."""

    def __init__(self, comm: Comm, make: Callable[[Comm], Average]) -> None:
        self.worker, self.workers = comm.rank, comm.size
        self._comm, self._make = comm, make
        self._average = make(comm)
        self._beside: Average | None = None
        self._line: Line | None = None

    def average(self, vector: np.ndarray) -> None:
        self._average(vector)

    def begin_average(self, vector: np.ndarray) -> Request:
        if self._line is None:
            self._line = self._comm.line()
        return self._line.start(self._average_beside, vector)

    def _average_beside(self, comm: Comm, vector: np.ndarray) -> None:
        if self._beside is None:
            self._beside = self._make(comm)
        self._beside(vector)
