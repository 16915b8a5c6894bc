"""Cables: what each rank's can carry, and what its node's card has received.

A message from one rank to the next crosses both cables, at the pace of the slower one. Ranks in a
ring make P pairs, and each rank is in two of them:

    time per byte of a cable  =  the smaller one of its two pairs

so a single slow cable among three or more is found out, and its neighbours are cleared. The
fastest of a few turns counts: a cable carries no more than it can, and all else is delay.
What to look at: cards count headers, acknowledgements and MPI's own messages too; ledgers do not.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ddl_measure.ping_pong import ping_pong
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm

SHORT, TURNS = 8, 5  # bytes of the small ball, and how often each is played


@dataclass(frozen=True)
class Cables:
    """Seconds that an empty message takes, and seconds per byte of each rank's cable."""

    latency: float
    per_byte: tuple[float, ...]

    @property
    def slowest(self) -> float:
        return max(self.per_byte)


def cables(comm: Comm, nbytes: int = 2**17) -> Cables:
    """Measure every cable by ping-pongs of `nbytes` between neighbours, one pair after the other.
    All ranks must call it, and get the same result."""
    if comm.size < 2:
        raise ValueError("cables: one rank has none to speak over; start two or more")
    fitted = np.zeros((2, comm.size))
    for rank in range(comm.size):
        pair = comm.split(0 if comm.rank in (rank, (rank + 1) % comm.size) else None)
        if pair is None:
            continue
        short, long = (
            min(ping_pong(pair, size, 1) or 0.0 for _ in range(TURNS)) for size in (SHORT, nbytes)
        )
        if pair.rank == 0:
            fitted[:, rank] = short, max(long - short, 0.0) / (nbytes - SHORT)
    ring.allreduce(comm, fitted)
    latencies, per_byte = fitted
    both = np.minimum(per_byte, np.roll(per_byte, 1))
    return Cables(float(np.median(latencies)), tuple(both.tolist()))


def received() -> dict[str, int]:
    """What each card of this node has received so far, in bytes: those that lead to others."""
    import psutil

    state = psutil.net_if_stats()
    return {
        name: card.bytes_recv
        for name, card in psutil.net_io_counters(pernic=True).items()
        if name in state and "loopback" not in state[name].flags
    }


def received_since(before: Mapping[str, int]) -> int:
    """The bytes that the busiest network card has received since `before`; 0 without a card."""
    return max((now - before[name] for name, now in received().items() if name in before),
               default=0)  # fmt: skip
