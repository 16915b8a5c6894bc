"""The exercises of the course by name.

Each folder unit_NN is found by its name alone. Its exercises.toml holds the tasks of the unit, the
messages of its judges, and those judges that are tables of formulas; others stand beside it. To
add an exercise, add it there, and its cells to the notebook.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.exercise import Attempt, Exercise, Prediction, Unit
from ddl_class.exercises.kit.formulas import FormulaJudge
from ddl_class.exercises.kit.texts import read, texts

FOLDER = Path(__file__).parent


def units() -> list[Unit]:
    """The units that have exercises, in the order of their numbers."""
    return [_read_unit(folder) for folder in _folders()]


def find_unit(number: str) -> Unit:
    """The unit of that number, as "06"."""
    folders = {folder.name[-2:]: folder for folder in _folders()}
    if not isinstance(number, str) or number not in folders:
        raise Mistake(f"no unit has the number {number!r}. There are {', '.join(folders)}.")
    return _read_unit(folders[number])


def find_exercise(name: str) -> Exercise:
    """The exercise of that name."""
    return _find("exercise", name, lambda unit: unit.exercises)


def find_prediction(name: str) -> Prediction:
    """The prediction of that name."""
    return _find("prediction", name, lambda unit: unit.predictions)


def _find(kind: str, name: str, offered: Callable[[Unit], Sequence[Any]]) -> Any:
    if not isinstance(name, str):
        raise Mistake(f"the name of the {kind} comes first, as a text, not {name!r}")
    folder = FOLDER / f"unit_{name.partition('.')[0]}"
    own = offered(_read_unit(folder)) if folder in _folders() else ()  # no other unit is loaded
    if named := [exercise for exercise in own if exercise.name == name]:
        return named[0]
    tables = (read(f"{__package__}.{folder.name}") for folder in _folders())  # and no judges
    known = [entry["name"] for table in tables for entry in table[f"{kind}s"]]
    # "ring" alone means "06.ring".
    close = [full for full in known if full.partition(".")[2] == name.lower()]
    close = close or get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    meant = (
        f"Did you mean {' or '.join(map(repr, close))}?"
        if close
        else f"There are {', '.join(known)}."
    )
    raise Mistake(f"no {kind} is called {name!r}. {meant}")


def _folders() -> list[Path]:
    return sorted(FOLDER.glob("unit_[0-9][0-9]"))


@cache
def _read_unit(folder: Path) -> Unit:
    table = read(f"{__package__}.{folder.name}")
    exercises = [_read_exercise(folder.name, **entry) for entry in table["exercises"]]
    predictions = [Prediction(**entry) for entry in table["predictions"]]
    return Unit(folder.name[-2:], table["title"], tuple(exercises), tuple(predictions))


def _read_exercise(
    unit: str, first_hint: str, second_hint: str, third_hint: str = "", judge: str = "",
    asks: Mapping[str, Any] | None = None, says: object = None, **entry: Any,
) -> Exercise:  # fmt: skip
    """An exercise from its table; `judge` there is a file beside it and a function of it, where
    `asks` does not say all that a judge does."""
    file, _, function = judge.partition(".")
    package, own = f"{__package__}.{unit}", entry["name"].partition(".")[2]

    def written(attempt: Attempt) -> None:  # loaded with its libraries when it is asked
        getattr(import_module(f"{package}.{file}"), function)(attempt)

    judged = FormulaJudge(texts(package, own)[0], package, **asks) if asks else written
    lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    hints = tuple(filter(None, (first_hint, second_hint, third_hint)))
    return Exercise(judge=judged, hints=hints, **(entry | lists))
