"""Injected delay: real ranks whose messages take as long as on a slower network.

After each exchange a rank sleeps for the larger of what it sent and what it received, divided by
the bandwidth. Work on the processor is as real as it was, and so is what the machine does beside
it; only the wire is make-believe. Figures measured so must be called that: measured with injected
delay. On simulated ranks the same program adds the delay to virtual time.
What to look at: a rank that sleeps leaves the core to the others, as a real network card does.
"""

from typing import Any

import numpy as np

from ddl_runtime.core.arrays import Array, describe
from ddl_teach.comm import Comm

UNCHANGED = ("rank", "size", "ledger", "now", "work", "span", "combine", "barrier", "collective")


class SlowLinks:
    """A communicator for programs that only exchange (`sendrecv`): rings, and `averaging`."""

    def __init__(self, comm: Comm, bandwidth: float, latency: float = 0.0) -> None:
        if not 0 < bandwidth < np.inf or not 0 <= latency < np.inf:
            raise ValueError(
                f"bandwidth={bandwidth} must be bytes a second, above 0, and latency={latency} "
                "seconds, 0 or more"
            )
        self._comm, self._bandwidth, self._latency = comm, bandwidth, latency

    def __getattr__(self, name: str) -> Any:
        if name not in UNCHANGED:
            raise AttributeError(
                f"SlowLinks delays `sendrecv` alone, so {name} is not offered: it would "
                "go at full speed. Write the exchange with `sendrecv`"
            )
        return getattr(self._comm, name)

    def sendrecv(self, x: Array, to: int, y: Array, source: int, tag: int = 0) -> int:
        """The exchange, and then the time that it would take on the slow link."""
        origin = self._comm.sendrecv(x, to, y, source, tag)
        nbytes = max(describe(x)[0], describe(y)[0])
        self._comm.work(seconds=self._latency + nbytes / self._bandwidth)
        return origin
