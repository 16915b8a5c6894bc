"""What stands in a sandbox for modules that it does not have.

The classroom and pictures do nothing there. A function of the library raises `ForbiddenUse` when
it is called, unless the exercise allows it: then the grader runs it on the answer's behalf, and
nothing of it is in this process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ddl_class.grading.inside.project import (
    COURSE,
    PICTURES,
    ForbiddenUse,
    is_hidden,
    is_library,
    library_words,
    may_use,
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
            raise ForbiddenUse(library_words(self._path, self._allowed))
        comm, *words = arguments
        return comm.library(self._path, *words, **named)


class Finder(MetaPathFinder, Loader):
    """Finds stand-ins for those modules, and for all that is said to be in them."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = allowed

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        silent = f"{fullname}.".startswith(tuple(f"{name}." for name in SILENT))
        found = silent or is_library(fullname)
        return ModuleSpec(fullname, self, is_package=True) if found else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name, "It stands for a module that is not here.")

    def exec_module(self, module: ModuleType) -> None:
        home = module.__name__

        def attribute(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            path = f"{home}.{name}"
            if path == f"{COURSE}.yours":
                return lambda _, function, *__: function  # the answer is what is graded
            return Library(path, self._allowed) if is_library(path) else Silent()

        module.__getattr__ = attribute


def stand_in(allowed: Sequence[str]) -> None:
    """From here on imports find stand-ins; `allowed` are functions that the grader runs."""
    for name in [*filter(is_hidden, sys.modules)]:
        del sys.modules[name]
        parent, _, own = name.rpartition(".")
        if parent in sys.modules:
            vars(sys.modules[parent]).pop(own, None)
    sys.meta_path.insert(0, Finder(allowed))
