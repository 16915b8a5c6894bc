"""A bug that is planted: a part as it stands in this course, with one piece of its text changed.

So the wrong twin differs from the right part in that line only, and follows when the part changes;
where the line is gone, planting fails and says so. All of them stand in bugs.toml.
"""

import hashlib
import importlib
import inspect
import linecache
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Bug:
    """In `part`, a name such as "training.optimizers.adam.Adam", the text `right` became `wrong`.

    `level` is the one of Deep500's four on which it shows, `what` says what is wrong, and `hint`
    where it can be seen.
    """

    part: str
    level: str
    right: str
    wrong: str
    what: str
    hint: str


BUGS = tuple(
    Bug(**entry)
    for entry in tomllib.loads(files(__package__).joinpath("bugs.toml").read_text("utf-8"))["bugs"]
)


@cache
def planted(bug: Bug) -> Any:
    """The part with the bug in it."""
    text = _text(bug.part)
    if text.count(bug.right) != 1:
        raise ValueError(
            f"{bug.part}: {bug.right!r} stands {text.count(bug.right)} times in its file, and a "
            "bug is planted where its line stands once"
        )
    return _grown(bug.part, text.replace(bug.right, bug.wrong))


@cache
def untouched(part: str) -> Any:
    """The part without a bug, made in the same way as those with one: only what it does can
    differ."""
    return _grown(part, _text(part))


def _text(part: str) -> str:
    return inspect.getsource(importlib.import_module(f"ddl_teach.{part.rpartition('.')[0]}"))


def _grown(part: str, text: str) -> Any:
    """What `part` is called in this text, from a module of its own: it travels to other processes
    by value, and its name shows nothing."""
    module = ModuleType(f"suspect_{hashlib.sha256(text.encode()).hexdigest()[:8]}")
    module.__file__ = f"{module.__name__}.py"
    linecache.cache[module.__file__] = len(text), None, text.splitlines(True), module.__file__
    sys.modules[module.__name__] = module  # where dataclasses and pickles look for it
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    return getattr(module, part.rpartition(".")[2])
