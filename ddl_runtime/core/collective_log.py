"""The collectives that a rank calls: all ranks of a communicator must call the same, in one order.

Two that were swapped may fit each other by chance: then the numbers are wrong, and no rank waits.
So each rank keeps what it called, on each communicator. Nothing is sent for it: the logs are
compared when the program is over. Memory is bounded: of the older ones a checksum remains.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest

from ddl_runtime.diagnosis.frames import program_line

KEPT = 1 << 14  # so many of a communicator's last collectives are kept, or up to twice as many


@dataclass(frozen=True, slots=True)
class Collective:
    """What all ranks of a communicator must agree in, and the line of the program."""

    name: str
    nbytes: int | None
    op: str | None
    line: str = field(default="", compare=False)

    def __str__(self) -> str:
        size = "" if self.nbytes is None else f" of {self.nbytes:,} bytes"
        operation = "" if not self.op else f" ({self.op})"
        at = "" if not self.line else f", at {self.line}"
        return f"{self.name}{size}{operation}{at}"


known = lru_cache(4096)(Collective)  # calls that a loop repeats are one object


@dataclass(slots=True)
class CollectiveLog:
    """The collectives of one rank on one communicator, in order. Only the last ones are kept in
    `called`; `checksum` is that of the `older` ones. `depth` is how many are open, as one may be
    made of others."""

    communicator: Hashable  # its number, the same on all its ranks
    called: list[Collective] = field(default_factory=list)
    older: int = 0
    checksum: int = 0
    depth: int = field(default=0, compare=False)

    def open(self, name: str, nbytes: int | None, op: object) -> CollectiveLog:
        if not self.depth:
            if op.__class__ is not str and op is not None:
                op = str(getattr(op, "__name__", op))
            self.called.append(known(name, nbytes, op, program_line()))
            if len(self.called) == 2 * KEPT:
                self.keep_after(self.older + KEPT)
        return self

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1

    def keep_after(self, number: int) -> None:
        """Keep of the first `number` collectives, or of all if these are fewer, the checksum."""
        first = self.called[: number - self.older]
        del self.called[: number - self.older]
        # Few are distinct, as loops repeat them.
        distinct = {id(each): each for each in first}
        words = {key: f"{each.name} {each.nbytes} {each.op}\n" for key, each in distinct.items()}
        text = "".join([words[id(each)] for each in first])
        self.checksum = zlib.crc32(text.encode(), self.checksum)
        self.older += len(first)

    def take(self) -> CollectiveLog:
        """A log of what was called since `take` was called last."""
        taken = CollectiveLog(self.communicator, self.called, self.older, self.checksum)
        self.called, self.older, self.checksum = [], 0, 0
        return taken


def disagreement(logs: Iterable[tuple[int, Sequence[CollectiveLog]]], ended: bool) -> str:
    """The first collective that two ranks of one communicator have begun differently, by the logs
    of each rank; "" if there is none. Where not all have `ended`, some may still have begun more.
    """
    first: dict[Hashable, tuple[int, CollectiveLog]] = {}
    for rank, own in logs:
        for log in own:
            other, wanted = first.setdefault(log.communicator, (rank, log))
            if log != wanted and (text := _text(other, wanted, rank, log, ended)):
                return text
    return ""


def _text(other: int, wanted: CollectiveLog, rank: int, log: CollectiveLog, ended: bool) -> str:
    older = max(wanted.older, log.older)
    for each in (wanted, log):
        each.keep_after(older)
    if (wanted.older, wanted.checksum) != (log.older, log.checksum):
        if wanted.older != log.older and not ended:
            return ""  # one of them may only be behind
        return (
            f"ranks {other} and {rank} did not call the same collectives. The first difference is "
            f"among the first {older:,} of their communicator, and only the last ones are kept. "
            "What to try: let the program take fewer steps; then this names the two lines."
        )
    pairs = (zip_longest if ended else zip)(wanted.called, log.called)
    for number, (its, own_call) in enumerate(pairs, start=older + 1):
        if its != own_call:
            return (
                "they did not call the same collectives:\n\n"
                f"  rank {other} called {its or 'none'}\n"
                f"  rank {rank} called {own_call or 'none'}\n\n"
                f"as number {number:,} on their communicator. What to try: let all ranks call the "
                "same collectives, with as many bytes and the same operation, in the same order."
            )
    return ""
