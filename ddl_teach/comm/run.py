"""What a program leaves behind, the same from every ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ddl_teach.comm.ledger import Ledger
from ddl_teach.comm.timeline import Timeline


@dataclass(frozen=True)
class Run:
    """Results per rank, time in seconds (measured or virtual), ledger per rank, timeline."""

    results: list[Any]
    time: float
    ledger: list[Ledger]
    timeline: Timeline

    @property
    def ranks(self) -> int:
        return len(self.results)

    def bytes_to(self, rank: int) -> int:
        """What all others together sent to one rank: its ingress."""
        return sum(ledger.bytes_to(rank) for ledger in self.ledger)

    def __repr__(self) -> str:
        most = max((ledger.bytes_sent for ledger in self.ledger), default=0)
        return f"Run({self.ranks} ranks, {self.time:.6g} s, at most {most} bytes sent per rank)"
