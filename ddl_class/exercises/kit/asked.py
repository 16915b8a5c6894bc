"""What a learner's function was asked, and its answer beside the right one.

    ask(attempt, SLOT, (table, size, at), right).compare(no_table=at, block_only=block)

Four texts have the same names in all exercises: "call" says what was asked, "wanted" what to
return, and "setting" where a rank's value stands. "otherwise" says where to look if no usual
mistake gives what came back. Each argument stands in them by the name of its parameter.
"""

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Attempt, ProgramOutcome, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, arrays, items, number, numbers, short, whole
from ddl_class.exercises.kit.compare import Same, alike, compare, shown
from ddl_class.exercises.kit.texts import Texts
from ddl_runtime.pictures.words import time_text
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_runtime.topologies.shared_links import Topology

Read = Callable[..., Any]
"""What makes plain data of an answer, such as `number`; it is given what is wanted, too, and the
names of what the answer has several of."""


@dataclass(frozen=True)
class Comparison:
    """What came back, beside what is right; `known` are the values that texts may show."""

    say: Texts
    setting: str
    result: Any
    right: Any
    same: Same
    known: Mapping[str, Any]

    def compare(self, usual: Mapping[str, Any] = {}, /, **mistakes: Any) -> None:
        """`Wrong` unless it is right. The mistakes are named by their texts, each with what it
        gives; those in `usual` are in words already."""
        named = self.say.each(self.known, **mistakes)
        otherwise = self.say("otherwise", **self.known) if "otherwise" in self.say else ""
        compare(self.setting, self.result, self.right, {**usual, **named}, otherwise, self.same)


def ask(
    attempt: Attempt, say: Texts, given: Sequence[Any], right: Any, /,
    *, same: Same = alike, names: Sequence[str] = (), read: Read | None = None, **values: Any,
) -> Comparison:  # fmt: skip
    """Call the function with what is `given`. Of several things that it returns, each has one of
    the `names`; `read` makes plain data of what is of another kind than what is right."""
    known = dict(zip(say.parameters, map(Argument, given), strict=False)) | values
    known |= {"call": say("call", **known)}
    result = _read(say("wanted", **known), attempt.call(*given), right, names, read)
    return Comparison(say, known["call"], result, right, same, known)


def run_ranks(
    attempt: Attempt, say: Texts, given: Sequence[tuple[Any, ...]], /,
    causes: ranks.Causes | None = None, network: Uniform | Topology = Uniform(), **values: Any,
) -> tuple[str, ProgramOutcome]:  # fmt: skip
    """What was asked, of a rank for each entry of `given`, and the outcome. A failure has its
    usual causes, unless others are named, and the "advice" of the exercise."""
    count = len(given)
    call = say("call", **{"ranks": ranks_text(count), "count": count} | values)
    if causes is None:
        causes = ranks.general(say("advice")) if "advice" in say else {}
    return call, ranks.run(attempt, count, given, call, causes, network)


def held(
    say: Texts, call: str, rank: int, value: Any, right: Any, /,
    *, same: Same = alike, names: Sequence[str] = (), read: Read | None = None, **values: Any,
) -> Comparison:  # fmt: skip
    """What this rank returned, or was left with."""
    known = {"call": call, "rank": rank} | values
    setting = say("setting", **known)
    wanted = say("wanted", **known) if "wanted" in say else setting.rpartition(" ")[0]
    return Comparison(say, setting, _read(wanted, value, right, names, read), right, same, known)


def judge_seconds(
    attempt: Attempt, say: Texts, took: float, goal: float, values: Mapping[str, Any] = {}, /,
    **cases: Any,
) -> None:  # fmt: skip
    """`Wrong` if a case is true; else the seconds of a puzzle's answer are noted, and what its
    ranks hold, in the text `holds`. `Wrong` then if it takes longer than the goal."""
    known = {"took": time_text(took), "goal": time_text(goal), **values}
    say.refuse_if(known, **cases)
    attempt.note(took, say("holds", **known) if "holds" in say else known.get("holds", ""))
    say.refuse_if(known, too_slow=took > goal)


class Argument:
    """An argument as texts show it. Of `x` a text may also have `{x.count}` and `{x.shape}`."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self.count = len(value) if isinstance(value, Sized) else None
        self.shape = value.shape if isinstance(value, np.ndarray) else None

    def __format__(self, form: str) -> str:
        value = self._value
        if isinstance(value, np.ndarray):
            return shown(value)
        return short(value) if isinstance(value, list) else format(value, form)


def _read(wanted: str, value: Any, right: Any, names: Sequence[str], read: Read | None) -> Any:
    """A learner's answer as plain data of the same kind as what is right."""
    if read:
        return read(value, names, wanted) if names else read(value, wanted)
    if names and isinstance(right[0], np.ndarray):
        return arrays(value, names, wanted, [part.shape for part in right])
    if names:
        return numbers(value, names, wanted)
    if isinstance(right, np.ndarray):
        return array(value, wanted, right.shape)
    return items(value, wanted, whole) if isinstance(right, list) else number(value, wanted)
