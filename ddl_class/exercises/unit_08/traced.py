"""A real rank for a trace: its work is torch's products, and its cable is described.

`comm.work` of a real rank sleeps, and a profiler sees no operation. Here the rank multiplies
matrices for as long as is asked. Messages really travel, but none is there before the cable could
have brought it: messages to one rank follow one another, and take `bytes / bandwidth`.
What to look at: a rank that waits for its cable computes nothing, so its trace has a gap.
"""

import time
from dataclasses import dataclass

import torch

from ddl_runtime.core.arrays import Array
from ddl_teach.comm import Comm, Request

BANDWIDTH = 1e6  # bytes a second


@dataclass(frozen=True)
class OnCable:
    """A message that is not there before its time."""

    request: Request
    comm: Comm
    there: float

    def wait(self) -> None:
        time.sleep(max(0.0, self.there - self.comm.now()))
        self.request.wait()


class TracedRank:
    """What a step needs of a communicator."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm
        self.rank, self.size = comm.rank, comm.size
        self._matrix = torch.ones(256, 256)
        self._free = 0.0  # when the cable is

    def work(self, seconds: float) -> None:
        end = self._comm.now() + seconds
        while self._comm.now() < end:
            torch.mm(self._matrix, self._matrix)

    def irecv(self, x: Array, source: int, tag: int) -> OnCable:
        self._free = max(self._free, self._comm.now()) + x.nbytes / BANDWIDTH
        return OnCable(self._comm.irecv(x, source, tag), self._comm, self._free)

    def isend(self, x: Array, dest: int, tag: int) -> Request:
        return self._comm.isend(x, dest, tag)
