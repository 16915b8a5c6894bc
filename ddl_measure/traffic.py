"""Communication volume: the bytes that each rank sent to each other, from the ledgers.

Nothing is estimated here: the ledger has every message. What calls of the MPI library moved inside
is not in it, so such calls are counted and have no bytes. What to look at: the *largest* of a row
of sums decides the time, not their mean; on a server's column the sums of all others stand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ddl_runtime.records.ledger import Ledger


@dataclass(frozen=True)
class Traffic:
    """Bytes and messages by rank; and for each kind of message how many, and their bytes."""

    sent: np.ndarray
    received: np.ndarray
    messages: np.ndarray
    kinds: Mapping[str, tuple[int, int]]


def traffic(ledgers: Sequence[Ledger]) -> Traffic:
    """What the ranks of a run sent, all of it: `traffic(run.ledger)`."""
    sent, received, count = np.zeros((3, len(ledgers)), np.int64)
    kinds: dict[str, tuple[int, int]] = {}
    for rank, ledger in enumerate(ledgers):
        for peer, _, nbytes, kind in ledger.messages:
            number, total = kinds.get(kind, (0, 0))
            kinds[kind] = number + 1, total + (0 if kind == "native" else nbytes)
            if kind != "native":
                sent[rank] += nbytes
                received[peer] += nbytes
                count[rank] += 1
    return Traffic(sent, received, count, kinds)


def between_nodes(ledgers: Sequence[Ledger], node_of: Sequence[int]) -> list[int]:
    """Bytes that the ranks of each node sent to other nodes; `node_of` has each rank's node."""
    sent = dict.fromkeys(node_of, 0)
    for node, ledger in zip(node_of, ledgers, strict=True):
        for peer, _, nbytes, kind in ledger.messages:
            if kind != "native" and node_of[peer] != node:
                sent[node] += nbytes
    return list(sent.values())
