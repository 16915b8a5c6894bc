"""The ledger: every message a rank sent, to the byte.

A formula says how many bytes an algorithm moves; the ledger says how many it did move. Both must
agree: a ring all-reduce of n bytes on P ranks sends 2 (P-1)/P n bytes per rank.
"""

from collections import Counter
from typing import NamedTuple

from ddl_runtime.devices.choice import PATHS

# How the messages of arrays on devices went; `devices.choice` says what the words mean.
DEVICE_KINDS = {path: f"device {path}" for path in PATHS}
Entry = tuple[int, int, int, str]  # peer, tag, bytes, kind


class Message(NamedTuple):
    """One message sent: to which rank of the whole program, its tag, its bytes, how it went."""

    peer: int
    tag: int
    bytes: int
    kind: str


class Ledger:
    """What one rank sent, in order. `kind` separates the program's own messages from those of a
    barrier or a split. They are "host", or "device staged" and the like if the sender's array
    lives on a device. A call handed to the MPI library is "native": its inner messages cannot be
    seen, so it counts as one call and no bytes. "put" and "add" are what it wrote into the windows
    of others, "get" what others read in its own.

    >>> ledger = Ledger([(1, 0, 400, "host")])
    >>> ledger.messages_sent, ledger.bytes_sent
    (1, 400)
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    @property
    def messages(self) -> list[Message]:
        return [Message(*entry) for entry in self._entries]

    @property
    def messages_sent(self) -> int:
        return sum(kind != "native" for _, _, _, kind in self._entries)

    @property
    def bytes_sent(self) -> int:
        return sum(nbytes for _, _, nbytes, kind in self._entries if kind != "native")

    def bytes_to(self, peer: int) -> int:
        return sum(m[2] for m in self._entries if m[0] == peer and m[3] != "native")

    def since(self, entries: int) -> tuple[int, int]:
        """Bytes sent since it had `entries` entries, and how many it has now: for a diary that is
        written at every step, without adding up everything again."""
        new = self._entries[entries:]
        return sum(n for _, _, n, kind in new if kind != "native"), entries + len(new)

    def by_kind(self) -> Counter[str]:
        return Counter(entry[3] for entry in self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.messages == other.messages

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        return f"Ledger({self.messages_sent} messages, {self.bytes_sent} bytes sent)"
