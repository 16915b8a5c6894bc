"""The exercises of the course by name.

Each file unit_NN.py of this folder is found by its name alone; it holds what there is to do in one
unit as `UNIT`. To add an exercise, add it there, and its cells to the unit's notebook source.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from ddl_teach.course import exercises
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit
from ddl_teach.course.mistake import Mistake


def units() -> list[Unit]:
    """The units that have exercises, in the order of their numbers."""
    names = sorted(module.name for module in pkgutil.iter_modules(exercises.__path__))
    return [
        import_module(f"{exercises.__name__}.{name}").UNIT
        for name in names
        if re.fullmatch(r"unit_\d\d", name)
    ]


def find_exercise(name: str) -> Exercise:
    """The exercise of that name."""
    return _find("exercise", name, [one for unit in units() for one in unit.exercises])


def find_prediction(name: str) -> Prediction:
    """The prediction of that name."""
    return _find("prediction", name, [one for unit in units() for one in unit.predictions])


def _find(kind: str, name: str, known: Iterable[Any]) -> Any:
    by_name = {one.name: one for one in known}
    if not isinstance(name, str):
        raise Mistake(f"the name of the {kind} comes first, as a text, not {name!r}")
    if name in by_name:
        return by_name[name]
    # Who writes "ring" means "06.ring".
    close = [full for full in by_name if full.split(".")[1] == name.lower()]
    close = close or get_close_matches(name.lower(), by_name, n=3, cutoff=0.5)
    meant = (
        f"Did you mean {' or '.join(map(repr, close))}?"
        if close
        else "There are " + (", ".join(by_name) or "none")
    )
    raise Mistake(f"no {kind} is called {name!r}. {meant}")
