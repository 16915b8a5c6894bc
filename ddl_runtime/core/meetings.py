"""Meetings: no rank leaves one before all ranks have come.

Dissemination: in round k each rank hears of the rank 2^k before it, and tells the one 2^k after
it. After log2 P rounds it has heard, directly or not, of all. Cost: log2 P latencies.
"""

from collections.abc import Callable

import numpy as np

from ddl_runtime.core.parts import PointToPoint

MEETINGS = ("barrier", "split", "background", "shared_memory", "fence", "window")


class Meetings:
    """The meetings of one communicator's ranks; each kind has messages of its own."""

    __slots__ = ("_messages", "_open", "_rank", "_size")

    def __init__(self, rank: int, size: int, messages: Callable[[str], PointToPoint]) -> None:
        self._rank = rank
        self._size = size
        self._messages = messages
        self._open: dict[str, PointToPoint] = {}

    def meet(self, name: str) -> None:
        """Wait until all ranks have come."""
        messages = self._open.get(name)
        if messages is None:
            messages = self._open[name] = self._messages(name)
        token, other = np.empty(0, np.uint8), np.empty(0, np.uint8)
        tag = MEETINGS.index(name)  # a rank that splits does not meet one at a barrier
        rank, size, distance = self._rank, self._size, 1
        while distance < size:
            to, source = (rank + distance) % size, (rank - distance) % size
            messages.sendrecv(token, to, other, source, tag)
            distance *= 2
