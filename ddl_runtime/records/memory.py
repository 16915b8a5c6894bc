"""The memory track: what each rank held when, in the words of its program.

A change is a time, bytes (below zero where they were released), and what they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Change = tuple[float, int, str]
Tally = dict[str, tuple[int, int]]  # by kind: how many are held, and their bytes


def tally(changes: Iterable[Change]) -> Tally:
    """What is held after these changes, the most bytes first."""
    held: Tally = {}
    for _, nbytes, what in changes:
        count, before = held.get(what, (0, 0))
        held[what] = count + (nbytes > 0) - (nbytes < 0), before + nbytes
    present = {what: (count, nbytes) for what, (count, nbytes) in held.items() if nbytes}
    return dict(sorted(present.items(), key=lambda item: -item[1][1]))


class MemoryTrack:
    """What was held, by rank.

    >>> track = MemoryTrack([[(0.0, 4, "weights"), (1.0, 8, "inputs"), (2.0, -8, "inputs")]])
    >>> track.peak(0), track.at_peak(0), track.at_end(0)
    (12, {'inputs': 8, 'weights': 4}, {'weights': 4})
    """

    def __init__(self, changes: list[list[Change]]) -> None:
        self._changes = changes

    @property
    def ranks(self) -> int:
        return len(self._changes)

    def __bool__(self) -> bool:
        """Whether anything was held."""
        return any(self._changes)

    def of(self, rank: int) -> list[Change]:
        """The changes of one rank, in the order of time."""
        return sorted(self._changes[rank], key=itemgetter(0))

    def curve(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Times, and the bytes that were held from each to the next."""
        changes = self.of(rank)
        times = np.fromiter((change[0] for change in changes), float, len(changes))
        return times, np.cumsum([change[1] for change in changes], dtype=np.int64)

    def peak(self, rank: int | None = None) -> int:
        """The most bytes that a rank held at once; without a number, that any rank did."""
        if rank is None:
            return max(map(self.peak, range(self.ranks)), default=0)
        return max(accumulate(change[1] for change in self.of(rank)), default=0)

    def counts_at_peak(self, rank: int) -> Tally:
        """What a rank held when it first held most: of each kind how many, and their bytes."""
        changes = self.of(rank)
        sums = [0, *accumulate(change[1] for change in changes)]
        return tally(changes[: sums.index(max(sums))])

    def at_peak(self, rank: int) -> dict[str, int]:
        """The bytes of each kind that a rank held when it first held most."""
        return {what: nbytes for what, (_, nbytes) in self.counts_at_peak(rank).items()}

    def at_end(self, rank: int) -> dict[str, int]:
        """The bytes of each kind that were never released."""
        return {what: nbytes for what, (_, nbytes) in tally(self.of(rank)).items()}

    def plot(self, **options: Any) -> Figure:
        """The chart: time across, bytes upwards, a line for each rank."""
        from ddl_runtime.pictures.memory import plot_memory

        return plot_memory(self, **options)

    def __repr__(self) -> str:
        return f"MemoryTrack({self.ranks} ranks, at most {self.peak()} bytes on one)"
