"""What of this project a submission may read and import: one list, for files and for imports.

Everything else of the project is hidden because it is not on the list, whatever package it is in.
Beside what is on it an answer may use those functions that its exercise names. What an answer may
not use it is told in the same words wherever it is found: by `check` or by the grader.
"""

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

# Files, and folders with all in them.
SHOWN = ("ddl_teach/__init__.py", "ddl_teach/comm", "ddl_runtime")
DISTRIBUTION = "ddl-teach"
ROOT = Path(__file__).resolve().parents[3]  # the folder in which the project's packages stand

PACKAGE, COURSE = "ddl_teach", "ddl_class"
PICTURES = f"{COURSE}.plots"
CLASSROOM = (  # what a notebook's cells talk to; it does nothing where exercises are graded
    "Engines", "animate", "check", "definition", "explore", "hint", "judge", "predict", "progress",
    "reveal", "stopwatch", "yours",
)  # fmt: skip
CLOSED_VERBS = ("background", "shared_memory", "window", "revoke", "agree", "shrink", "die")


class ForbiddenUse(Exception):
    """An answer used what it may not; the text says what."""


def is_hidden(module: str) -> bool:
    """Whether a module is the project's and not on the list; a function's path will do as well."""
    path = module.replace(".", "/")
    if path.split("/")[0] not in packages() or f"{path}/__init__.py" in SHOWN:
        return False
    return not any(f"{path}/".startswith(f"{one.removesuffix('.py')}/") for one in SHOWN)


@cache
def packages() -> frozenset[str]:
    """The names of the project's top-level packages."""
    installed = metadata.distributions(name=DISTRIBUTION, path=[str(ROOT)])
    brought = {name for one in installed for name in top_level(one)}
    return frozenset(
        path.name
        for path in ROOT.iterdir()
        if path.is_dir()
        and path.name.isidentifier()
        and (path.name in brought or any(fnmatchcase(path.name, one) for one in _declared()))
    )


def top_level(distribution: metadata.Distribution) -> dict[str, Path]:
    """What an installed distribution brings, by its record: files, and whole folders beside it.

    A folder that it shares with others, such as `bin`, is not taken whole.
    """
    if distribution.read_text("RECORD") is None:
        return {}
    brought = {}
    for file in distribution.files or ():
        alone = file.parts[0] in ("..", "/", "__pycache__")
        name = str(file) if alone else file.parts[0]
        brought[name] = Path(str(distribution.locate_file(name)))
    return brought


@cache
def _declared() -> tuple[str, ...]:
    """In a clone the patterns of packages that setuptools puts into the wheel."""
    settings = ROOT / "pyproject.toml"
    tables: Any = tomllib.loads(settings.read_text()) if settings.exists() else {}
    for name in ("tool", "setuptools", "packages", "find"):
        tables = tables.get(name, {})
    return (Path(SHOWN[0]).parts[0], *tables.get("include", ()))


def is_library(path: str) -> bool:
    """Whether "ddl_teach.collectives.ring.allreduce" is what an answer has to write itself."""
    if not is_hidden(path) or _is_in(path, PICTURES):
        return False
    return not (_is_in(path, COURSE) and path.rpartition(".")[2] in CLASSROOM)


def _is_in(path: str, room: str) -> bool:
    return f"{path}.".startswith(f"{room}.")


def may_use(path: str, allowed: Sequence[str]) -> bool:
    """Whether the exercise lets its answer call this function: "ring.reduce_scatter"."""
    return path in [f"{PACKAGE}.collectives.{name}" for name in allowed]


def library_words(path: str, allowed: Sequence[str]) -> str:
    """Why an answer that calls a function of the library is not right."""
    besides = f" and {', '.join(allowed)}" if allowed else ""
    return (
        f"it calls {path}, and the exercise asks for your own lines in its place. Of the library "
        f"an answer may use ddl_teach.comm{besides}."
    )


def refuse_verb(verb: str, *_: Any, **__: Any) -> NoReturn:
    """In the place of a verb of the communicator that does not run where exercises are graded."""
    raise ForbiddenUse(
        f"it calls comm.{verb}, which does not run where exercises are graded. Write it with "
        "messages: send, recv, sendrecv, isend and irecv do."
    )
