"""The exercises of the course by name.

Each file unit_NN.py of this folder is found by its name alone; it holds what there is to do in one
unit as `UNIT`. To add an exercise, add it there, and its cells to the unit's notebook source.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from ddl_teach.course import exercises
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit
from ddl_teach.course.mistake import Mistake


def units() -> list[Unit]:
    """The units that have exercises, in the order of their numbers."""
    return [_unit(number) for number in _numbers()]


def find_exercise(name: str) -> Exercise:
    """The exercise of that name."""
    return _find("exercise", name, lambda unit: unit.exercises)


def find_prediction(name: str) -> Prediction:
    """The prediction of that name."""
    return _find("prediction", name, lambda unit: unit.predictions)


def _find(kind: str, name: str, offered: Callable[[Unit], Sequence[Any]]) -> Any:
    if not isinstance(name, str):
        raise Mistake(f"the name of the {kind} comes first, as a text, not {name!r}")
    number = name.partition(".")[0]
    for one in offered(_unit(number)) if number in _numbers() else ():
        if one.name == name:
            return one
    known = [one.name for unit in units() for one in offered(unit)]
    # Who writes "ring" means "06.ring".
    close = [full for full in known if full.partition(".")[2] == name.lower()]
    close = close or get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    meant = (
        f"Did you mean {' or '.join(map(repr, close))}?"
        if close
        else f"There are {', '.join(known)}."
    )
    raise Mistake(f"no {kind} is called {name!r}. {meant}")


def _numbers() -> list[str]:
    names = [module.name for module in pkgutil.iter_modules(exercises.__path__)]
    return sorted(name[-2:] for name in names if re.fullmatch(r"unit_\d\d", name))


def _unit(number: str) -> Unit:
    return import_module(f"{exercises.__name__}.unit_{number}").UNIT
