"""A learner's answer as a plain number, whatever came back; what is none is said to be none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ddl_teach.course.exercises.exercise import Wrong

SHOWN = 60  # letters of an answer that is none


def number(value: Any, wanted: str, finite: bool = True, part: str = "") -> float:
    """`value` as a float, or `Wrong` with what was `wanted`: "return the number of steps".

    Where several things are returned, `part` names the one that this is: "the median".
    """
    if value is None and part:
        raise Wrong(f"{wanted}: {part} is None.")
    if value is None:
        raise Wrong(f"{wanted}; yours returns None. Is a `return` missing?")
    try:
        plain = not isinstance(value, bool | str | bytes) and np.ndim(value) == 0
        found = float(value) if plain else None
    except OverflowError:
        raise Wrong(f"{wanted}: yours has more than 300 digits.") from None
    except (TypeError, ValueError, RuntimeError):  # the last is torch's word for it
        found = None
    if found is None:
        one = f"{part} is one number" if part else "one number"
        raise Wrong(f"{wanted}: {one}, not {str(value)[:SHOWN]}.")
    if finite and not math.isfinite(found):
        raise Wrong(f"{wanted}: {f'{part} is a number, and ' if part else ''}{found} is none.")
    return found
