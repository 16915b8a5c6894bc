"""What came back beside what is right; and of what is wrong, the usual mistake that gives it.

A table of usual mistakes has for each what to say of it, and what it gives:
`{"That is the sum: divide by comm.size": total}`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Wrong
from ddl_class.exercises.translation import translated

CLOSE = 1e-9
IS = " is", " are", " ist", " sind"
Same = Callable[[Any, Any], bool]


class AnyOf:
    """What a mistake may give: each of these values shows it."""

    def __init__(self, *values: Any) -> None:
        self.values = values


def alike(result: Any, right: Any, rtol: float = CLOSE, atol: float = 0.0) -> bool:
    """Whether numbers, arrays, or lists of them are the same but for rounding."""
    if isinstance(right, list | tuple) and isinstance(result, list | tuple):
        pairs = zip(result, right, strict=False)
        return len(result) == len(right) and all(alike(a, b, rtol, atol) for a, b in pairs)
    return np.shape(result) == np.shape(right) and np.allclose(result, right, rtol=rtol, atol=atol)


def within(rtol: float, atol: float = 0.0) -> Same:
    """`alike` with this tolerance."""
    return lambda result, right: alike(result, right, rtol, atol)


def equal(result: Any, right: Any) -> bool:
    """Whether both are the same, to the last bit."""
    return type(result) is type(right) and result == right


def why(result: Any, usual: Mapping[str, Any], otherwise: str = "", same: Same = alike) -> str:
    """What to say of the mistake that gives this, as a sentence."""
    for words, wrong in usual.items():
        each = wrong.values if isinstance(wrong, AnyOf) else (wrong,)
        if any(same(result, mistaken) for mistaken in each):
            return sentence(words)
    return sentence(otherwise)


def compare(
    message: str,
    result: Any,
    right: Any,
    usual: Mapping[str, Any] = {},
    otherwise: str = "",
    same: Same = alike,
) -> None:
    """`Wrong` unless this is right: what came, what is right, and the usual mistake. The message
    is a call, which gives something, or ends with "is" or "are"."""
    if not same(result, right):
        words, first = why(result, usual, otherwise, same), 0
        if isinstance(right, np.ndarray) and right.size and np.shape(result) == right.shape:
            first = int((~np.isclose(result, right)).argmax())  # wrong number, row by row
        if not message.endswith(IS):
            message = translated("{call} gives", call=message)
        if first > 5:  # none of the numbers that would be shown
            message = translated("{call}, from number {first} on,", call=message, first=first)
            result, right = np.ravel(result)[first:], right.ravel()[first:]
        several = isinstance(right, list) and isinstance(result, list)
        if several and [type(part) for part in result] == [float] * len(right):
            right = [*map(float, right)]  # as the learner's are shown
        digits = 5 if shown(result) != shown(right) else 15
        mine, theirs = shown(result, digits), shown(right, digits)
        arrays = isinstance(result, np.ndarray) and isinstance(right, np.ndarray)
        if mine == theirs and arrays and result.size != right.size:  # the first ones are alike
            sizes = result.size, right.size
            mine, theirs = (translated("{count} numbers", count=size) for size in sizes)
        text = translated(
            "{call} {mine}, and {right} is right.", call=message, mine=mine, right=theirs
        )
        raise Wrong(f"{text} {words}".rstrip())


def sentence(words: str) -> str:
    """The words with a full stop at their end, if they have none."""
    return words if not words or words[-1] in ".?!" else f"{words}."


def shown(value: Any, digits: int = 5) -> str:
    """A number, the first numbers of an array, or each of several things."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        many = 10**digits <= abs(value) < 1e15
        return f"{value:,.0f}" if many else f"{value:.{digits + 1}g}"
    if isinstance(value, np.ndarray):
        some = ", ".join(f"{number:.{digits - 1}g}" for number in value.ravel()[:6])
        return f"[{some}{', ...' if value.size > 6 else ''}]"
    if isinstance(value, list | tuple) and value and isinstance(value[0], np.ndarray | float):
        parts = [shown(part, digits) for part in value]
        return f"[{', '.join(parts)}]" if len(parts) > 2 else " and ".join(parts)
    return str(value)
