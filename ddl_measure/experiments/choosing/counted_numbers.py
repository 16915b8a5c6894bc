"""Numbers that count what a program does with them: its work, and the depth of the longest chain.

An operation takes one unit of work and is one deeper than the deeper of its operands. A comparison
decides what the program does next, and so does a number that is used as a place: all that comes
after it is deeper. Brent, "The parallel evaluation of general arithmetic expressions", 1974: on p
lanes T <= W/p + D. Two devices are made of that, a fast narrow one and a slow wide one.
What to look at: a sum in a loop and a sum by halves have the same work, and not the same depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

DEVICES = ("narrow", "wide")
STEP = 1e-9  # seconds of an operation on the narrow device
LANES, SLOW_STEP, START = 256, 4e-9, 1e-6  # of the wide one, and what it takes to start it


@dataclass
class Counts:
    """Work and depth of what has run; `decided` is how deep the last decision was."""

    work: int = 0
    depth: int = 0
    decided: int = 0

    def end(self, result: Any) -> None:
        """Set the depth to that of the `result`."""
        self.depth = max(self.decided, _deepest(result))

    @property
    def seconds(self) -> tuple[float, float]:
        """The computed seconds on the narrow and on the wide device."""
        return self.work * STEP, START + max(self.work / LANES, self.depth) * SLOW_STEP


_under_way: list[Counts] = []


@contextmanager
def counting() -> Iterator[Counts]:
    """Count the operations on `Counted` numbers inside the `with`."""
    _under_way.append(Counts())
    try:
        yield _under_way[-1]
    finally:
        _under_way.pop()


class Counted:
    """A whole number that counts: `depth` is the longest chain of operations behind it."""

    def __init__(self, value: int, depth: int = 0) -> None:
        self.value, self.depth = value, depth

    def __add__(self, other: Counted | int) -> Counted:
        return self._combined(other, int.__add__)

    def __mul__(self, other: Counted | int) -> Counted:
        return self._combined(other, int.__mul__)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Counted | int) -> bool:
        return self._decided(other, int.__lt__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted | int) and self._decided(other, int.__eq__)

    def __index__(self) -> int:
        self._decided(0, int.__eq__)
        return self.value

    def __hash__(self) -> int:
        return hash(self.__index__())

    def _combined(self, other: Counted | int, operation: Callable[[int, int], int]) -> Counted:
        counts, (value, depth) = _under_way[-1], _plain(other)
        counts.work += 1
        deeper = max(self.depth, depth, counts.decided) + 1
        return Counted(operation(self.value, value), deeper)

    def _decided(self, other: Counted | int, question: Callable[[int, int], bool]) -> bool:
        counts, (value, depth) = _under_way[-1], _plain(other)
        counts.work += 1
        counts.decided = max(self.depth, depth, counts.decided) + 1
        return question(self.value, value)


def _plain(number: Counted | int) -> tuple[int, int]:
    return (number.value, number.depth) if isinstance(number, Counted) else (number, 0)


def _deepest(result: Any) -> int:
    if isinstance(result, Counted):
        return result.depth
    return max(map(_deepest, result), default=0) if isinstance(result, list | tuple) else 0
