"""What all communicators of one real rank write down during one program."""

from __future__ import annotations

from typing import Any

from ddl_runtime.devices.choice import Preference
from ddl_runtime.devices.staging import Copies
from ddl_runtime.records.ledger import Entry
from ddl_runtime.records.timeline import SpanEntry


class Records:
    """Messages, spans, and what MPI may still read or write."""

    def __init__(self, trace: bool, copies: Copies) -> None:
        self.ledger: list[Entry] = []
        self.received: list[Entry] = []  # source, tag, bytes, kind
        self.fetched: list[tuple[int, int]] = []  # owner, bytes read from its window
        self.spans: list[SpanEntry] | None = [] if trace else None
        # Begun and not finished: MPI may still read or write their memory.
        self.open: dict[Any, None] = {}
        self.background: list[Any] = []
        self.windows: list[Any] = []  # shared memory and windows to give back
        self.began = 0.0
        self.copies = copies
        self.preference = Preference()
        self.chunked = 0  # messages that were sent in chunks: the number of the next one
        # What nobody will wait for, though MPI may still read or write its memory.
        self.given_up: list[Any] = []

    def give_up(self) -> None:
        """Nobody will finish what is open; MPI may still touch its memory."""
        self.given_up += self.open
        self.open.clear()
