"""A whole number of which each rank has its own, computed for all ranks at once.

A symmetric program runs once in place of all ranks: `comm.rank` is then an `EachRank`. What is
computed of it is one again, exact for each rank. The neighbours in a ring are kept as

    (rank + shift) % ranks + after

so that a step costs the same on any number of ranks. All others are arrays, with an element for
each rank. A number that is the same on all ranks becomes a plain one. Where ranks would do
different things, at a branch or an index, `RanksDiffer` is raised: that it was not raised is the
proof that all ranks do the same.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.diagnosis.frames import source_line

LARGEST = 2**63 - 1
OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide,
    "mod": np.remainder, "lshift": np.left_shift, "rshift": np.right_shift,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "truediv": np.true_divide, "pow": np.power,
}  # fmt: skip
# How large the outcome of some may be.
BOUNDS = {np.add: operator.add, np.subtract: operator.add, np.multiply: operator.mul,
          np.left_shift: operator.lshift}  # fmt: skip


class RanksDiffer(DiagnosedError):
    """The program is not symmetric: ranks would do different things."""


class RankCount(int):
    """How many ranks there are. If an array is split into as many parts, an `EachRank` can be
    their index. The first `refusal` is kept, for the program may have caught it."""

    refusal: RanksDiffer | None = None

    def refuse(self, what: str) -> NoReturn:
        """Say that ranks differ, and at which line of the program."""
        error = RanksDiffer(
            f"It cannot be shown that all ranks do the same: {what}\n\n"
            f"  at {source_line(inspect.currentframe())}\n\n"
            "With symmetric=True one rank runs in place of all.\n"
            "What to try: leave symmetric=True away, on fewer ranks."
        )
        self.refusal = self.refusal or error
        raise error


class EachRank:
    """The number of each rank: `(rank + shift) % size + after`, or the elements of an array."""

    __slots__ = ("_values", "after", "shift", "size")
    __array_ufunc__ = None  # NumPy's numbers leave the arithmetic to this class

    def __init__(
        self, size: RankCount, shift: int | None = 0, after: int = 0,
        values: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.size = size
        self.shift = shift if values is None else None
        self.after = after
        self._values = values

    @property
    def values(self) -> np.ndarray:
        """The number of rank 0, of rank 1, and so on."""
        if self._values is None:
            if abs(self.after) > LARGEST // 2:
                self.size.refuse(f"numbers beyond {LARGEST // 2:,}")
            ranks = np.arange(self.size)
            self._values = (ranks + (self.shift or 0)) % self.size + self.after
        return self._values

    # -- arithmetic -------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if self.shift is not None and isinstance(other, int):
            return EachRank(self.size, self.shift, self.after + other)
        return self.computed(np.add, self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if self.shift is not None and isinstance(other, int):
            return EachRank(self.size, self.shift, self.after - other)
        return self.computed(np.subtract, self, other)

    def __mod__(self, other: Any) -> Any:
        if self.shift is not None and isinstance(other, int) and other == self.size:
            return EachRank(self.size, (self.shift + self.after) % self.size)
        return self.computed(np.remainder, self, other)

    def __neg__(self) -> Any:
        return self.computed(np.subtract, 0, self)

    def computed(self, ufunc: np.ufunc, first: Any, second: Any) -> Any:
        """What all other operators do."""
        whole = all(isinstance(each, (int, np.integer, EachRank)) for each in (first, second))
        if not whole or ufunc in (np.true_divide, np.power):
            self.size.refuse(f"{ufunc.__name__} of {first!r} and {second!r} is no whole number")
        values = [
            each.values if each.__class__ is EachRank else int(each) for each in (first, second)
        ]
        if ufunc in (np.floor_divide, np.remainder) and not np.all(values[1]):
            self.size.refuse("a division by zero")
        if ufunc in (np.left_shift, np.right_shift) and np.min(values[1]) < 0:
            self.size.refuse("bits are moved by less than zero places")
        largest = [int(np.max(np.abs(each))) for each in values]
        if ufunc in BOUNDS and BOUNDS[ufunc](*largest) > LARGEST:
            self.size.refuse(f"numbers beyond {LARGEST:,}")
        return self.agreed(ufunc(*values), "a comparison differs")

    # -- where ranks must agree -------------------------------------------------------------

    def agreed(self, values: np.ndarray, what: str) -> Any:
        """What is true on all ranks, or false on all, else it is refused, with what ranks do; and
        numbers, as plain ones where all ranks have the same."""
        alike = values == values[0]
        if alike.all():
            return values[0].item()
        if values.dtype == bool:
            self.size.refuse(f"{what} between ranks 0 and {alike.argmin()}")
        return EachRank(self.size, values=values)

    def __bool__(self) -> bool:
        return bool(self.agreed(self.values != 0, "a branch differs"))

    def __index__(self) -> NoReturn:
        self.size.refuse("one number is needed for all ranks, as an index or a count")

    __int__ = __float__ = __index__

    def __str__(self) -> NoReturn:
        self.size.refuse("the number of a rank becomes text or a key")

    __hash__ = __str__

    def __repr__(self) -> str:
        return f"EachRank({self.values})"

    # -- as a permutation -------------------------------------------------------------------

    def permutation(self, verb: str) -> EachRank:
        """The same where each rank has another rank's number, in its simplest form."""
        if self.shift is not None and not self.after:
            return self
        values, size = self.values, self.size
        outside = values[(values < 0) | (values >= size)]
        if len(outside):
            size.refuse(f"{verb}: a rank names rank {outside[0]}, which does not exist")
        distances = (values - np.arange(size)) % size
        if (distances == distances[0]).all():
            return EachRank(size, int(distances[0]))
        times = np.bincount(values, minlength=size)
        if times.max() > 1:
            peer = int(times.argmax())
            size.refuse(
                f"{verb}: {times[peer]} ranks name rank {peer}, and each must name its own"
            )
        return self

    @property
    def first(self) -> int:
        """Rank 0's number in a permutation."""
        return int(self.values[0]) if self.shift is None else self.shift

    def inverse(self) -> EachRank:
        """Of a permutation: which rank has named this rank."""
        if self.shift is not None:
            return EachRank(self.size, -self.shift % self.size)
        values = np.empty_like(self.values)
        values[self.values] = np.arange(self.size)
        return EachRank(self.size, values=values)

    def coincides(self, other: EachRank, what: str) -> bool:
        """Whether all ranks have the same number in both; `what` is refused if only some have."""
        if self.shift is not None is not other.shift:
            return self.shift == other.shift
        return bool(self.agreed(self.values == other.values, what))


def _operator(ufunc: np.ufunc, turned: bool) -> Callable[[EachRank, Any], Any]:
    def compute(self: EachRank, other: Any) -> Any:
        return self.computed(ufunc, *((other, self) if turned else (self, other)))

    return compute


for _name, _ufunc in OPERATORS.items():
    if _name not in ("add", "sub", "mod"):
        setattr(EachRank, f"__{_name}__", _operator(_ufunc, False))
    if _name != "add":
        setattr(EachRank, f"__r{_name}__", _operator(_ufunc, True))


def on_each_rank(size: RankCount, value: Any) -> list[Any]:
    """The value of each rank."""
    return value.values.tolist() if value.__class__ is EachRank else [value] * size


def length_of(part: slice, length: int) -> Any:
    """How many of `length` elements a slice has whose bounds differ between ranks."""
    size = next(each.size for each in (part.start, part.stop) if each.__class__ is EachRank)
    if part.step not in (None, 1):
        size.refuse("a slice has a step, and bounds that differ")

    def bound(given: Any, missing: int) -> Any:
        values = given.values if given.__class__ is EachRank else given
        values = np.asarray(missing if given is None else values)
        return np.clip(np.where(values < 0, values + length, values), 0, length)

    lengths = np.maximum(bound(part.stop, length) - bound(part.start, 0), 0)
    return EachRank(size).agreed(lengths, "")


class RankParts(list[Any]):
    """The parts of an array, one for each rank. An `EachRank` is an index if they are equal."""

    def __init__(self, parts: Iterable[Any]) -> None:
        super().__init__(parts)
        self.alike = len({part.nbytes for part in self}) == 1

    def __getitem__(self, index: Any) -> Any:
        if index.__class__ is EachRank:
            if not self.alike:
                index.size.refuse("an array's parts have different sizes")
            rank: Any = index
            outside = (rank.shift is None or rank.after) and not -len(self) <= rank < len(self)
            index = len(self) if outside else 0
        return list.__getitem__(self, index)
