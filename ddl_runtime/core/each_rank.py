"""A whole number of which each rank has its own, computed for all ranks at once.

A symmetric program runs once in place of all ranks: `comm.rank` is then an `EachRank`. What is
computed of it is one again, exact for each rank. The neighbours in a ring are kept as

    (rank + shift) % ranks + after

so that a step costs the same on any number of ranks.
All others are arrays, with an element for each rank. A number that is the same on all ranks becomes a
plain one. Where ranks would do different things, at a branch or an index, `RanksDiffer` is raised:
that it was not raised is the proof that all ranks do the same.
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
WHOLE = int, np.integer
GROWING = {operator.add: operator.add, operator.sub: operator.add, operator.mul: operator.mul,
           operator.lshift: operator.lshift}  # fmt: skip


class RanksDiffer(DiagnosedError):
    """The program is not symmetric: ranks would do different things."""


class RankCount(int):
    """How many ranks there are. An `EachRank` can be the index of an array's so many parts. The
    first `refusal` is kept, for the program may have caught it."""

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


def _operator(operation: Callable[[Any, Any], Any], turned: bool = False) -> Callable[..., Any]:
    def compute(self: EachRank, other: Any) -> Any:
        return self.computed(operation, other, turned)

    return compute


def _comparison(comparison: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def compare(self: EachRank, other: Any) -> Any:
        if not isinstance(other, (int, float, np.number, EachRank)):
            return NotImplemented
        theirs = other.values if isinstance(other, EachRank) else other
        return self.agrees(comparison(self.values, theirs), "a comparison differs")

    return compare


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
                raise OverflowError(f"numbers of symmetric ranks go to {LARGEST // 2:,}")
            shift = self.shift or 0
            self._values = (np.arange(self.size) + shift) % self.size + self.after
        return self._values

    # -- arithmetic -------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if self.shift is not None and isinstance(other, int):
            return EachRank(self.size, self.shift, self.after + other)
        return self.computed(operator.add, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if self.shift is not None and isinstance(other, int):
            return EachRank(self.size, self.shift, self.after - other)
        return self.computed(operator.sub, other)

    def __mod__(self, other: Any) -> Any:
        if self.shift is not None and isinstance(other, int) and other == self.size:
            return EachRank(self.size, (self.shift + self.after) % self.size)
        return self.computed(operator.mod, other)

    __mul__ = __rmul__ = _operator(operator.mul)
    __and__ = __rand__ = _operator(operator.and_)
    __or__ = __ror__ = _operator(operator.or_)
    __xor__ = __rxor__ = _operator(operator.xor)
    __floordiv__, __rfloordiv__ = _operator(operator.floordiv), _operator(operator.floordiv, True)
    __lshift__, __rlshift__ = _operator(operator.lshift), _operator(operator.lshift, True)
    __rshift__, __rrshift__ = _operator(operator.rshift), _operator(operator.rshift, True)
    __rsub__, __rmod__ = _operator(operator.sub, True), _operator(operator.mod, True)

    def __neg__(self) -> Any:
        return 0 - self

    def __pow__(self, other: Any) -> NoReturn:
        self.size.refuse(
            f"only whole numbers differ from rank to rank, and no powers, but this has {other!r}"
        )

    __rpow__ = __truediv__ = __rtruediv__ = __pow__

    def computed(
        self, operation: Callable[[Any, Any], Any], other: Any, turned: bool = False
    ) -> Any:
        """`operation(self, other)`; `turned`, `operation(other, self)`."""
        if not isinstance(other, (*WHOLE, EachRank)):
            self**other
        mine, theirs = self.values, other.values if isinstance(other, EachRank) else int(other)
        first, second = (theirs, mine) if turned else (mine, theirs)
        if operation in (operator.mod, operator.floordiv) and not np.all(second):
            raise ZeroDivisionError("division by zero, on some ranks or on all")
        if operation in (operator.lshift, operator.rshift) and np.min(second) < 0:
            raise ValueError(
                "the bits of a number are moved by less than zero, on some ranks or on all"
            )
        if operation in GROWING:
            most = GROWING[operation](*(int(np.max(np.abs(each))) for each in (first, second)))
            if most > LARGEST:
                raise OverflowError(f"numbers of symmetric ranks go to {LARGEST:,}, not {most:,}")
        return collapsed(self.size, operation(first, second))

    # -- where ranks must agree -------------------------------------------------------------

    def agrees(self, outcomes: np.ndarray, what: str) -> bool:
        """What is true on all ranks, or false on all. Else it is refused, with what ranks do."""
        some = bool(outcomes.any())
        if some and not outcomes.all():
            other = int((outcomes != outcomes[0]).argmax())
            self.size.refuse(f"{what} between ranks 0 and {other}")
        return some

    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    def __bool__(self) -> bool:
        return self.agrees(self.values != 0, "a branch differs")

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
        """Rank 0's number."""
        return int(self.values[0]) if self.shift is None else self.shift % self.size + self.after

    def inverse(self) -> EachRank:
        """Of a permutation: which rank has named this rank."""
        if self.shift is not None:
            return EachRank(self.size, -self.shift % self.size)
        values = np.empty_like(self.values)
        values[self.values] = np.arange(self.size)
        return EachRank(self.size, values=values)

    def coincides(self, other: EachRank, what: str) -> bool:
        """Whether all ranks have the same number in both; `what` is refused if only some have."""
        if self.shift is not None is not other.shift and self.after == other.after:
            return self.shift == other.shift
        return self.agrees(self.values == other.values, what)


def collapsed(size: RankCount, values: np.ndarray) -> EachRank | int:
    """A plain number where all ranks have the same."""
    if (values == values[0]).all():
        return int(values[0])
    return EachRank(size, values=values)


def on_each_rank(size: RankCount, value: Any) -> list[Any]:
    """The value of each rank."""
    return value.values.tolist() if value.__class__ is EachRank else [value] * size


def length_of(part: slice, length: int) -> EachRank | int:
    """How many of `length` elements a slice has whose bounds differ between ranks."""
    size = next(each.size for each in (part.start, part.stop) if each.__class__ is EachRank)
    if part.step not in (None, 1):
        size.refuse("a slice has a step, and bounds that differ")

    def bound(given: Any, missing: int) -> Any:
        values = given.values if given.__class__ is EachRank else given
        values = np.asarray(missing if given is None else values)
        return np.clip(np.where(values < 0, values + length, values), 0, length)

    return collapsed(size, np.maximum(bound(part.stop, length) - bound(part.start, 0), 0))


class RankParts(list[Any]):
    """The parts of an array, one for each rank. An `EachRank` is an index if they are equal."""

    def __init__(self, parts: Iterable[Any]) -> None:
        super().__init__(parts)
        self.alike = len({part.nbytes for part in self}) == 1

    def __getitem__(self, index: Any) -> Any:
        if index.__class__ is EachRank:
            if not self.alike:
                index.size.refuse(
                    "ranks take parts of different sizes, for the array's length is no multiple "
                    "of the number of ranks"
                )
            if index.shift is None or index.after:
                inside = (-len(self) <= index.values) & (index.values < len(self))
                if not index.agrees(inside, "an index is out of range on some ranks only,"):
                    raise IndexError("list index out of range")
            index = 0
        return list.__getitem__(self, index)
