"""A learner's answer as plain data, whatever came back; what is none is said to be none.

`wanted` says what to return, as in "return the number of steps"; a message begins with it.
"""

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np

from ddl_class.exercises.exercise import Wrong
from ddl_class.exercises.translation import translated

SHOWN = 60  # letters of an answer that is none
STRANGE = (TypeError, ValueError, OverflowError, RuntimeError)  # the last is torch's word for it

Item = TypeVar("Item")


def number(value: Any, wanted: str, finite: bool = True, part: str = "") -> float:
    """`value` as a float. Where several things are returned, `part` names the one that this is:
    "the median"."""
    if value is None and part:
        raise Wrong(translated("{wanted}: {part} is None.", wanted=wanted, part=part))
    not_none(value, wanted)
    try:
        plain = not isinstance(value, bool | str | bytes) and np.ndim(value) == 0
        result = float(value) if plain else None
    except OverflowError:
        raise Wrong(
            translated("{wanted}: yours has more than 300 digits.", wanted=wanted)
        ) from None
    except STRANGE:
        result = None
    if result is None:
        described = translated("one number")
        if part:
            described = translated("{part} is one number", part=part)
        raise Wrong(f"{wanted}: {described}{_not(value)}")
    if finite and not math.isfinite(result):
        part = translated("{part} is a number, and ", part=part) if part else ""
        none = translated("{result} is none.", result=result)
        raise Wrong(f"{wanted}: {part}{none}")
    return result


def _not(value: Any) -> str:
    return translated(", not {seen}.", seen=seen(value))


def seen(value: Any) -> str:
    """The first letters of an answer that is none, or its type if these say nothing of it."""
    words = " ".join(str(value).split())
    return type(value).__name__ if " at 0x" in words else words[:SHOWN]


def not_none(value: Any, wanted: str) -> Any:
    """The value itself."""
    if value is None:
        raise Wrong(
            translated("{wanted}; yours returns None. Is a `return` missing?", wanted=wanted)
        )
    return value


def several(value: Any, count: int, wanted: str) -> list[Any]:
    """The items of a list, tuple or array; raises `Wrong` unless there are `count`."""
    row = isinstance(not_none(value, wanted), np.ndarray) and value.ndim
    if not (row or isinstance(value, tuple | list)):
        raise Wrong(f"{wanted}{_not(value)}")
    if len(value) != count:
        raise Wrong(
            translated(
                "{wanted}; yours returns {found} in place of {count}.",
                wanted=wanted,
                found=len(value),
                count=count,
            )
        )
    return list(value)


def numbers(value: Any, names: Sequence[str], wanted: str, finite: bool = True) -> list[float]:
    """The numbers of a list, one for each name; raises `Wrong` for anything else."""
    result = several(value, len(names), wanted)
    return [
        number(number_given, wanted, finite, name)
        for number_given, name in zip(result, names, strict=True)
    ]


def array(value: Any, wanted: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """An array of numbers, of this shape if one is given."""
    try:
        result = np.asarray(not_none(value, wanted), dtype=float)
    except STRANGE:
        raise Wrong(f"{wanted}{_not(value)}") from None
    if shape is not None and result.shape != shape:
        yours = translated("yours")
        raise Wrong(f"{wanted}: {_shape(yours, result, shape)}")
    return result


def _shape(name: str, array: np.ndarray, right: tuple[int, ...]) -> str:
    return translated(
        "{name} has the shape {shape}; it should have {right}.",
        name=name, shape=array.shape, right=right,
    )  # fmt: skip


def arrays(
    value: Any, names: Sequence[str], wanted: str, shapes: Sequence[tuple[int, ...]] = ()
) -> list[np.ndarray]:
    """The arrays of a list, one for each name, of these shapes; else raises `Wrong`."""
    each = []
    one_array = getattr(value, "shape", None) in shapes
    result = several([value] if one_array else value, len(names), wanted)
    for array_given, name, shape in zip_longest(result, names, shapes):
        part = array(
            array_given, translated("{wanted}: {name} is numbers", wanted=wanted, name=name)
        )
        if shape is not None and part.shape != shape:
            raise Wrong(f"{wanted}: {_shape(name, part, shape)}")
        each.append(part)
    return each


def items(value: Any, wanted: str, read: Callable[[Any], Item]) -> list[Item]:
    """The items of a list, each as `read` returns it; raises `Wrong` if `read` cannot take one."""
    try:
        return [read(item) for item in not_none(value, wanted)]
    except STRANGE:
        raise Wrong(f"{wanted}{_not(value)}") from None


def whole_rows(value: Any, wanted: str) -> list[tuple[int, ...]]:
    """Rows of whole numbers, such as pairs; raises `Wrong` for anything else."""
    return items(value, wanted, lambda row: tuple(map(whole, row)))


def whole(value: Any) -> int:
    """A whole number as a plain int; raises `ValueError` for anything else."""
    if isinstance(value, bool | str | bytes) or int(value) != value:
        raise ValueError
    return int(value)


def short(value: Sequence[Any], most: int = 12) -> str:
    """A list, or its first items."""
    some = list(value[:most])
    return str(some) if len(value) <= most else translated("{some} and so on", some=some)
