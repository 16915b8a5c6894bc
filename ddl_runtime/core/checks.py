"""What arguments are checked by before anything begins, with words that say what is wrong."""

import inspect
import math
import numbers
import operator
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

from ddl_runtime.diagnosis.deadlock import NoSuchRank
from ddl_runtime.diagnosis.waits import RECEIVES

ANY = -1  # receive from the rank that sends first
HIGHEST_TAG = 32767
LARGEST_INT = 2**31 - 1  # what MPI takes as a colour or a key


def check_peer(peer: int, tag: int, verb: str, size: int) -> tuple[int, int]:
    """A peer among `size` ranks and a tag as plain numbers, or an error that says precisely what
    is wrong."""
    if peer.__class__ is tag.__class__ is int and 0 <= peer < size and 0 <= tag <= HIGHEST_TAG:
        return peer, tag
    peer, tag = whole_number(peer, f"{verb}: a rank"), whole_number(tag, f"{verb}: a tag")
    receives = verb in RECEIVES
    if not 0 <= tag <= HIGHEST_TAG:
        raise ValueError(f"{verb}: tag {tag} is outside 0 to {HIGHEST_TAG}")
    if not (0 <= peer < size or (peer == ANY and receives)):
        ranks = f"the ranks are 0 to {size - 1}" if size > 1 else "there is only 0"
        hint = ", or ANY" if receives else "; ANY is for receives" if peer == ANY else ""
        raise NoSuchRank(f"{verb}: rank {peer} does not exist here; {ranks}{hint}")
    return peer, tag


def whole_number(value: Any, what: str, least: int | None = None) -> int:
    """`value` as a plain number, or an error that says what `what` has to be."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be a whole number, not {value!r}")
    number = operator.index(value)
    if least is not None and number < least:
        raise ValueError(f"{what} must be at least {least}, not {number}")
    return number


def first_ranks(ranks: int | None, size: int, what: str) -> int:
    """How many ranks a program runs on: `ranks`, the first of the `size` there are, or all."""
    count = size if ranks is None else whole_number(ranks, "ranks", 1)
    if count > size:
        raise ValueError(f"there are {size} {what}: ranks must be 1 to {size}")
    return count


def amount(
    value: Any, what: str, *, below: float = math.inf, most: float = math.inf,
    zero: bool = True, example: str = "",
) -> float:  # fmt: skip
    """`value` as a float of at least 0, or above 0 if not `zero`. An error says what `what`, the
    argument's name, must be."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{what} must be a number{example}, not {value!r}")
    number = float(value)
    if not (0 <= number < below and number <= most) or not (zero or number):
        begin = "zero or more" if zero else "above zero"
        end = "finite" if below == math.inf else f"less than {below}"
        end = f"at most {most}" if most < math.inf else end
        raise ValueError(f"{what} must be {begin} and {end}, not {value!r}")
    return number


def one_of(name: Any, kind: str, known: Iterable[str]) -> None:
    """Refuse a `name` that no `kind` has."""
    if name not in (names := tuple(known)):
        raise ValueError(unknown(kind, name, names))


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The text of an error: no `kind` has this `name`. It proposes the most similar known name."""
    names = tuple(known)
    plain = str(name).lower().replace("-", "_").replace(" ", "_")
    close = get_close_matches(plain, names, n=1)
    meant = f": did you mean {close[0]!r}?" if close else "."
    return f"no {kind} is called {name!r}{meant} There are {', '.join(names)}"


def check_program(program: Any) -> None:
    """Refuse what would not run when it is called with a communicator."""
    if not callable(program):
        raise TypeError(f"the program must be a function of a communicator, not {program!r}")
    if inspect.isgeneratorfunction(program) or inspect.iscoroutinefunction(program):
        raise TypeError(
            f"{getattr(program, '__name__', program)} is a generator or `async`: a call would "
            "only make an object, and run nothing. Write the program as a plain function, without "
            "`yield` and `async`."
        )


def check_timeout(seconds: Any) -> None:
    """Refuse what is no time to wait for a program's end."""
    if isinstance(seconds, bool) or not isinstance(seconds, numbers.Real):
        raise TypeError(f"timeout must be a number of seconds, not {seconds!r}")
    if not float(seconds) > 0:
        raise ValueError(f"timeout must be a positive number of seconds, not {seconds!r}")


def check_work(seconds: float, flops: float, nbytes: float) -> None:
    """Refuse seconds, operations or bytes below zero, or that are no numbers."""
    for name, number in (("seconds", seconds), ("flops", flops), ("nbytes", nbytes)):
        if isinstance(number, bool) or not isinstance(number, numbers.Real):
            raise TypeError(f"work: {name} is a number, not {number!r}")
        if not (math.isfinite(number) and number >= 0):
            raise ValueError(f"work: {name} must be zero or more, not {number!r}")
