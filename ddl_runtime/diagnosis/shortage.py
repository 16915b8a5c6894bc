"""A rank that is out of memory: what it held, as data first and as text last."""

import math
from dataclasses import dataclass

from ddl_runtime.pictures.words import size_text, time_text

ADVICE = (
    "hold less at once (smaller micro-batches, fewer of them in flight, shards, activations that "
    "are computed again), or give each rank more: memory=..."
)


@dataclass(frozen=True)
class Shortage:
    """What a rank asked for when it had too little left, and what it held, by kind: how many and
    their bytes."""

    rank: int
    time: float
    asked: int
    what: str
    capacity: float
    held: dict[str, tuple[int, int]]

    @property
    def used(self) -> int:
        return sum(nbytes for _, nbytes in self.held.values())

    def __str__(self) -> str:
        kinds = [
            f"{f'{count} ' if count > 1 else ''}{what} ({size_text(nbytes)})"
            for what, (count, nbytes) in self.held.items()
        ]
        room = "" if math.isinf(self.capacity) else f" of {size_text(self.capacity)}"
        return (
            f"rank {self.rank} is out of memory at {time_text(self.time)}: "
            f"{', '.join(kinds) or 'nothing'} held, {size_text(self.used)}{room}, and "
            f"{size_text(self.asked)} more of {self.what} asked for"
        )


class OverCapacity(MemoryError):
    """Raised in the program of a rank that asks to hold more than it has left."""

    def __init__(self, shortage: Shortage) -> None:
        super().__init__(str(shortage))
        self.shortage = shortage

    def __reduce__(self) -> tuple[type, tuple[Shortage]]:
        return type(self), (self.shortage,)
