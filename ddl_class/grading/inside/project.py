"""Which files and modules of this project a submission may use: one list for both.

What is not on the list is hidden. Instead, plots and classroom functions are replaced by objects
that do nothing, and a function of the library raises `ForbiddenUse`, unless the exercise allows
it: then the grader runs it for the answer. `check` and the grader give the same messages.
"""

from __future__ import annotations

import builtins
import sys
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module, metadata
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

# Files, and folders with all in them.
SHOWN = ("ddl_teach/__init__.py", "ddl_teach/comm", "ddl_runtime")
DISTRIBUTION = "ddl-teach"
ROOT = Path(__file__).resolve().parents[3]  # the folder in which the project's packages stand

PACKAGE, COURSE = "ddl_teach", "ddl_class"
PICTURES = f"{COURSE}.plots"
CLASSROOM = (  # what a notebook's cells talk to; it does nothing where exercises are graded
    "Engines", "animate", "check", "definition", "explore", "hint", "judge", "predict",
    "predictions", "progress", "reveal", "stopwatch", "yours",
)  # fmt: skip
CLOSED_VERBS = ("background", "shared_memory", "window", "revoke", "agree", "shrink", "die")


ALONE = (
    "No module named {!r}: where exercises are graded there is your notebook and what is "
    "installed, and no file beside the notebook"
)


class ForbiddenUse(Exception):
    """An answer used what it may not; the text says what."""


@cache
def is_hidden(module: str) -> bool:
    """Whether a module is the project's and not on the list; a function's path will do as well."""
    path = module.replace(".", "/")
    if path.split("/")[0] not in packages() or f"{path}/__init__.py" in SHOWN:
        return False
    return not any(f"{path}/".startswith(f"{shown.removesuffix('.py')}/") for shown in SHOWN)


@cache
def packages() -> frozenset[str]:
    """The names of the project's top-level packages."""
    installed = metadata.distributions(name=DISTRIBUTION, path=[str(ROOT)])
    patterns = {PACKAGE}.union(*map(top_level, installed))
    settings = ROOT / "pyproject.toml"
    # In a clone: what setuptools puts into the wheel.
    tables: Any = tomllib.loads(settings.read_text()) if settings.exists() else {}
    for name in ("tool", "setuptools", "packages", "find"):
        tables = tables.get(name, {})
    patterns.update(tables.get("include", ()))
    folders = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name.isidentifier()]
    return frozenset(
        name for name in folders if any(fnmatchcase(name, pattern) for pattern in patterns)
    )


def top_level(distribution: metadata.Distribution) -> dict[str, Path]:
    """The files and folders that an installed distribution owns, by its record. A folder that it
    shares with others, such as `bin`, is not taken whole."""
    if distribution.read_text("RECORD") is None:
        return {}
    brought = {}
    for file in distribution.files or ():
        alone = file.parts[0] in ("..", "/", "__pycache__")
        name = str(file) if alone else file.parts[0]
        brought[name] = Path(str(distribution.locate_file(name)))
    return brought


def is_library(path: str) -> bool:
    """Whether a path such as "ddl_teach.collectives.ring.allreduce" is what an answer has to
    write."""
    if not is_hidden(path) or f"{path}.".startswith(f"{PICTURES}."):
        return False
    room, _, name = path.rpartition(".")
    return not (f"{room}.".startswith(f"{COURSE}.") and name in CLASSROOM)


def may_use(path: str, allowed: Sequence[str]) -> bool:
    """Whether the exercise lets its answer call this function: "ring.reduce_scatter"."""
    return path in [f"{PACKAGE}.collectives.{name}" for name in allowed]


def refuse_verb(verb: str, *_: Any, **__: Any) -> NoReturn:
    """Stands for a verb of the communicator that does not run where exercises are graded."""
    raise ForbiddenUse(
        f"it calls comm.{verb}, which does not run where exercises are graded. Write it with "
        "messages: `send`, `recv`, `sendrecv`, `isend` and `irecv` work."
    )


# Pictures and the notebook itself: each takes seconds or files to begin with.
SILENT = (PICTURES, "ddl_runtime.pictures", "matplotlib", "IPython", "ipywidgets", "ipyparallel")


class Silent:
    """Does nothing, whatever is asked of it."""

    def __call__(self, *_: Any, **__: Any) -> Silent:
        return self

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class Library:
    """Something of the library, known by its path."""

    def __init__(self, path: str, allowed: Sequence[str]) -> None:
        self._path = path
        self._allowed = allowed

    def __getattr__(self, name: str) -> Library:
        if name.startswith("__"):
            raise AttributeError(name)
        return Library(f"{self._path}.{name}", self._allowed)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not may_use(self._path, self._allowed):
            besides = f" and {', '.join(self._allowed)}" if self._allowed else ""
            raise ForbiddenUse(
                f"it calls {self._path}, and the exercise asks for your own lines in its place. "
                f"Of the library an answer may use ddl_teach.comm{besides}."
            )
        comm, *words = arguments
        return comm.library(self._path, *words, **named)


def is_silent(module: str) -> bool:
    """Whether a module is there and does nothing."""
    return f"{module}.".startswith(tuple(f"{name}." for name in SILENT))


def fill(module: ModuleType, allowed: Sequence[str]) -> ModuleType:
    """Turn an empty module into a stand-in for the module of its name."""
    home = module.__name__

    def attribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{home}.{name}"
        if path == f"{COURSE}.yours":
            return lambda _, function, *__: function  # the answer is what is graded
        return Library(path, allowed) if is_library(path) else Silent()

    module.__getattr__ = attribute
    return module


class Imports:
    """The `import` of a notebook's cells: of this project it finds what is on the list, and
    stand-ins; modules in the folder `beside` the notebook are not found, since they are not handed
    in."""

    def __init__(self, allowed: Sequence[str], beside: Path | None = None) -> None:
        self._allowed = allowed
        self._beside = beside

    def __call__(
        self,
        name: str,
        namespace: Any = None,
        local: Any = None,
        wanted: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        top = name.partition(".")[0]
        if level == 0 and (is_silent(top) or top in packages()):
            return self.module(name if wanted else top)
        try:
            module = builtins.__import__(name, namespace, local, wanted or (), level)
        except ModuleNotFoundError as error:
            if error.name == top:
                error.msg = ALONE.format(top)
            raise
        whole = sys.modules.get(top, module)
        files = getattr(whole, "__file__", None) or next(iter(getattr(whole, "__path__", ())), "")
        if self._beside and self._beside in list(Path(files).parents)[:2]:
            raise ModuleNotFoundError(ALONE.format(top), name=top)
        return module

    def module(self, name: str) -> ModuleType:
        """A module of this project, or its stand-in."""
        stands = ModuleType(name, "It stands for a module of this project.")
        stands.__path__ = []
        if is_silent(name) or is_library(name):
            return fill(stands, self._allowed)
        real = import_module(name)

        def attribute(own: str) -> Any:
            path = f"{name}.{own}"
            if not hasattr(real, own) and not own.startswith("__"):
                return self.module(path)
            value = getattr(real, own)
            home = value.__name__ if isinstance(value, ModuleType) else ""
            return self.module(home) if home.partition(".")[0] in packages() else value

        stands.__all__ = getattr(real, "__all__", [own for own in vars(real) if own[0] != "_"])
        stands.__getattr__ = attribute
        return stands


class Finder(MetaPathFinder, Loader):
    """Finds stand-ins for imports that do not go through `Imports`."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = allowed

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        hidden = is_silent(fullname) or is_library(fullname)
        return ModuleSpec(fullname, self, is_package=True) if hidden else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name, "It stands for a module that is not here.")

    def exec_module(self, module: ModuleType) -> None:
        fill(module, self._allowed)


def forget_hidden() -> None:
    """From now on imports look anew for what is hidden, and find stand-ins where `Finder` is."""
    for name in [*filter(is_hidden, sys.modules)]:
        del sys.modules[name]
        parent, _, own = name.rpartition(".")
        if parent in sys.modules:
            vars(sys.modules[parent]).pop(own, None)
