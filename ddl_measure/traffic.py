"""Communication volume: who sent how much to whom, from the ledgers.

Nothing is estimated here: the ledger has every message. What calls of the MPI library moved inside
is not in it, so such calls are counted and have no bytes. What to look at: the *largest* of a row
of sums decides the time, not their mean; on a server's column the sums of all others stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ddl_runtime.records.ledger import Ledger

MOST_RANKS = 2048  # whose table of pairs a picture can show


@dataclass(frozen=True)
class Traffic:
    """Bytes and messages by rank; and for each kind of message how many, and their bytes."""

    sent: np.ndarray
    received: np.ndarray
    messages: np.ndarray
    kinds: Mapping[str, tuple[int, int]]

    @property
    def imbalance(self) -> float:
        """Bytes in or out of the busiest rank, over the mean that a rank sends."""
        busiest = max(self.sent.max(initial=0), self.received.max(initial=0))
        return float(busiest / self.sent.mean()) if busiest else 1.0


def traffic(ledgers: Sequence[Ledger]) -> Traffic:
    """What the ranks of a run sent, all of it: `traffic(run.ledger)`."""
    ranks = len(ledgers)
    sent, received, count = (np.zeros(ranks, np.int64) for _ in range(3))
    kinds: dict[str, tuple[int, int]] = {}
    for rank, ledger in enumerate(ledgers):
        for peer, _, nbytes, kind in ledger.messages:
            number, total = kinds.get(kind, (0, 0))
            counted = 0 if kind == "native" else nbytes
            kinds[kind] = number + 1, total + counted
            sent[rank] += counted
            if kind != "native":
                received[peer] += counted
                count[rank] += 1
    return Traffic(sent, received, count, kinds)


def pairs(ledgers: Sequence[Ledger]) -> np.ndarray:
    """Bytes from each rank (row) to each (column)."""
    ranks = len(ledgers)
    if ranks > MOST_RANKS:
        raise ValueError(
            f"a table of all pairs of {ranks:,} ranks has {ranks**2:,} numbers: at most "
            f"{MOST_RANKS:,} ranks; `traffic` has the sums of any number"
        )
    table = np.zeros((ranks, ranks), np.int64)
    for rank, ledger in enumerate(ledgers):
        for peer, _, nbytes, kind in ledger.messages:
            if kind != "native":
                table[rank, peer] += nbytes
    return table


def between_nodes(ledgers: Sequence[Ledger], node_of: Sequence[int]) -> list[int]:
    """Bytes that the ranks of each node sent to other nodes; `node_of` has each rank's node."""
    sent = dict.fromkeys(node_of, 0)
    for node, ledger in zip(node_of, ledgers, strict=True):
        for peer, _, nbytes, kind in ledger.messages:
            if kind != "native" and node_of[peer] != node:
                sent[node] += nbytes
    return list(sent.values())
