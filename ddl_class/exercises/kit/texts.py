"""What judges say, by name: it stands in the exercises.toml beside them.

Each exercise there has a table of texts, `[exercises.says]`, and its unit may have one for all of
them, `[says]`. In a text `{count}` is a value that the judge gives:

    EACH, FUSED = texts(__package__, "", "fused")
    raise Wrong(FUSED("shape", wanted=(3, 4), found=h.shape))
    compare(setting, found, right, FUSED.each(swapped=[c, h]), FUSED("otherwise"))
    FUSED.refuse_if({"turns": turns}, empty=not all(turns), again=turn in before)
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ddl_class.exercises.kit import Wrong
from ddl_class.exercises.kit.compare import sentence
from ddl_class.exercises.translation import in_language

CODE = re.compile(r"\n+((?: {4}.*\n+)+)")  # indented lines of a text


class Texts(dict[str, str]):
    """The texts of an exercise, and the names of what its function is called with."""

    parameters: tuple[str, ...] = ()

    def __call__(self, text: str, /, **values: Any) -> str:
        """The text of that name, with these values in their places."""
        return self[text].format(**values)

    def each(self, values: Mapping[str, Any] = {}, /, **cases: Any) -> dict[str, Any]:
        """A table of mistakes or of cases, with texts in the place of their names."""
        return {self(text, **values): case for text, case in cases.items()}

    def first(self, values: Mapping[str, Any] = {}, /, **cases: Any) -> str:
        """The text of the first case that is true, as a sentence; empty if none is."""
        return next((sentence(self(text, **values)) for text, so in cases.items() if so), "")

    def refuse_if(self, values: Mapping[str, Any] = {}, /, **cases: Any) -> None:
        """Raise `Wrong` with the text of the first case that is true; do nothing if none is."""
        if words := self.first(values, **cases):
            raise Wrong(words)


def texts(package: str, *exercises: str) -> tuple[Texts, ...]:
    """What is said of these exercises of a unit, each with what is said of all; "" is that alone.

    The unit is the folder of this package.
    """
    table = read(package)
    every = {entry["name"].partition(".")[2]: entry for entry in table["exercises"]} | {"": {}}
    return tuple(_texts_of(table.get("says", {}), every[exercise]) for exercise in exercises)


def _texts_of(of_all: dict[str, str], entry: dict[str, Any]) -> Texts:
    result = Texts(of_all | entry.get("says", {}))
    result.parameters = tuple(entry.get("parameters", ("comm", "x")))
    return result


@cache
def read(package: str, file: str = "exercises.toml") -> dict[str, Any]:
    """The table of a unit in the learner's language, each text on one line but for lines of code,
    which are indented by four; it must not be changed."""
    return in_language(_unfolded(tomllib.loads((files(package) / file).read_text("utf-8"))))


def _unfolded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unfolded(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [_unfolded(inside) for inside in value]
    if not isinstance(value, str):
        return value
    parts = CODE.split(value)
    parts[::2] = [" ".join(prose.split()) for prose in parts[::2]]
    return "\n".join(map(str.rstrip, parts)).rstrip()
