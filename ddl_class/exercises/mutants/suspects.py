"""Suspects: right parts and their wrong twins, numbered, in a random order.

    for suspect in suspects("training.optimizers.adam.Adam"):
        print(suspect.number, my_check(suspect.candidate))
    print(find(my_check, "training.optimizers.adam.Adam"))

A check is a function of a candidate that says whether it is right; one that raises has found it
wrong. It must accuse all that are wrong and no others: to accuse all is no check. If it raises on
a right one, the check is wrong, and its error is shown.
What to look at: `tell(number)` says what is wrong, when you have made up your mind.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ddl_class.exercises.mutants.bug import BUGS, Bug, planted, untouched
from ddl_runtime.diagnosis.page import folded

SHOWN = 400  # letters of an error
ORDER = 19  # what the order is drawn from: number 7 is the same for all learners


@dataclass(frozen=True)
class Suspect:
    """A candidate for a part: perhaps right, perhaps not."""

    number: int
    part: str
    candidate: Any = field(repr=False)


@dataclass(frozen=True)
class Found:
    """Numbers: wrong ones that a check `caught` and `missed`, and right ones that it `accused`;
    and what it raised on one of these."""

    caught: tuple[int, ...]
    missed: tuple[int, ...]
    accused: tuple[int, ...]
    raised: str = ""

    @property
    def all(self) -> bool:
        """Whether the check is right about all suspects."""
        return not self.missed and not self.accused

    def __str__(self) -> str:
        text = f"{len(self.caught)} of {len(self.caught) + len(self.missed)} bugs caught"
        for numbers, what in ((self.missed, "missed"), (self.accused, "accused though right")):
            if numbers:
                text += f"; {what}: {', '.join(f'number {number}' for number in numbers)}"
        if self.raised:
            text += f"\nLook at the check itself: on a right part it raised {self.raised}"
        return folded(text)


def parts() -> tuple[str, ...]:
    """The parts of which there are suspects."""
    return tuple(dict.fromkeys(bug.part for bug in BUGS))


def suspects(part: str | None = None) -> tuple[Suspect, ...]:
    """All suspects, or those of one part, by their numbers."""
    if part is not None and part not in parts():
        raise ValueError(f"{part!r} is no part: take one of {', '.join(parts())}")
    return tuple(
        Suspect(number, own, untouched(own) if bug is None else planted(bug))
        for number, (own, bug) in enumerate(_line_up())
        if part in (None, own)
    )


def find(check: Callable[[Any], bool], part: str) -> Found:
    """What a check finds among the suspects of a part."""
    verdicts = {suspect.number: _verdict(check, suspect.candidate) for suspect in suspects(part)}
    wrong = [number for number in verdicts if _line_up()[number][1]]
    failing = {number: raised for number, (passes, raised) in verdicts.items() if not passes}
    return Found(
        caught=tuple(number for number in wrong if number in failing),
        missed=tuple(number for number in wrong if number not in failing),
        accused=tuple(number for number in failing if number not in wrong),
        raised="".join(raised for number, raised in failing.items() if number not in wrong),
    )


def tell(number: int) -> str:
    """What is wrong with a suspect, if anything."""
    line_up = _line_up()
    if number not in range(len(line_up)):
        raise ValueError(f"number {number!r}: the suspects are 0 to {len(line_up) - 1}")
    part, bug = line_up[number]
    if bug is None:
        return f"number {number}, {part}: right"
    return (
        f"number {number}, {part}: {bug.what}\n- {bug.right.strip()}\n+ {bug.wrong.strip()}\n"
        f"Seen by: {bug.hint}"
    )


@cache
def _line_up() -> tuple[tuple[str, Bug | None], ...]:
    everybody = [(bug.part, bug) for bug in BUGS] + [(part, None) for part in parts()]
    order = np.random.default_rng(ORDER).permutation(len(everybody))
    return tuple(everybody[place] for place in order)


def _verdict(check: Callable[[Any], bool], candidate: Any) -> tuple[bool, str]:
    """Whether a candidate passes, and what the check raised."""
    try:
        verdict = check(candidate)
    except Exception as error:  # it does not even run as the part does
        return False, f"{type(error).__name__}: {error}"[:SHOWN]
    if not isinstance(verdict, (bool, np.bool_)):
        raise TypeError(f"a check says True (right) or False (wrong), not {verdict!r}")
    return bool(verdict), ""
