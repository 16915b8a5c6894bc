"""Texts in another language than English: the variable DDL_TEACH_LANGUAGE names it, "de" say.

A catalogue in gettext's form, `languages/de.po`, has a translation for each English text. What it
lacks stays English.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ddl_class.commands.mistake import Mistake

VARIABLE = "DDL_TEACH_LANGUAGE"
FOLDER = Path(__file__).resolve().parent / "languages"
READ = {
    *("title", "right", "first_hint", "second_hint", "third_hint", "says"),
    *("question", "quantity"),
}
"""What learners read of a table of exercises."""


def in_language(table: dict[str, Any]) -> dict[str, Any]:
    """A table of texts in the learner's language."""
    words = _words()
    return changed(table, lambda text: words.get(text) or text) if words else table


def translated(text: str, /, **values: Any) -> str:
    """A text of the code in the learner's language, with these values in their places."""
    return (_words().get(text) or text).format(**values)


def _words() -> Mapping[str, str]:
    language = os.environ.get(VARIABLE, "en")
    return {} if language == "en" else catalogue(FOLDER / f"{language}.po")


def changed(table: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """A table with all that learners read changed. One without exercises has texts alone."""

    def inside(value: Any, read: bool) -> Any:
        if isinstance(value, dict):
            return {
                key: own if key == "asks" else inside(own, read or key in READ)
                for key, own in value.items()
            }
        if isinstance(value, list):
            return [inside(own, read) for own in value]
        return change(value) if read and isinstance(value, str) else value

    result = inside(table, "exercises" not in table)
    assert isinstance(result, dict)
    return result


@cache
def catalogue(path: Path) -> dict[str, str]:
    """The translation of each text."""
    if not path.is_file():
        known = ", ".join(["en", *sorted(other.stem for other in path.parent.glob("*.po"))])
        raise Mistake(f"{VARIABLE}={path.stem}: this language is not here. Take one of {known}.")
    from babel.messages.pofile import read_po  # which comes with JupyterLab

    with path.open("rb") as file:
        messages = [message for message in read_po(file) if not message.fuzzy]
    return {str(message.id): str(message.string) for message in messages}
