"""Whether a function uses what no graded answer may: found in a notebook before it is run.

The rule and its words are those of grading, where none of the library is there to be called. Here
it is; so the function's code is looked at, and that of the learner's functions which it calls.
"""

import contextlib
import dis
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ddl_class.grading.inside.project import (
    CLOSED_VERBS,
    is_library,
    library_words,
    may_use,
    refuse_verb,
)
from ddl_class.grading.inside.rank import GLOBAL, names_loaded
from ddl_teach.comm import Comm

LOCAL = ("LOAD_FAST", "LOAD_DEREF")


def borrowed(function: Callable[..., Any], allowed: Sequence[str]) -> str | None:
    """What the function takes from the library, in words, or None."""
    function = _unwrapped(function)
    used = filter(is_library, Search(getattr(function, "__module__", "")).paths(function))
    return next(
        (library_words(path, allowed) for path in used if not may_use(path, allowed)), None
    )


def as_graded(comm: Comm) -> Comm:
    """This rank's communicator, without those verbs that do not run where answers are graded."""
    for verb in CLOSED_VERBS:
        setattr(comm, verb, partial(refuse_verb, verb))
    # Not `comm` itself: what refers to itself is taken away late, and by any thread.
    whole = weakref.ref(comm)
    split: Callable[..., Comm | None] = type(comm).split

    def split_as_graded(colour: int | None, key: int = 0) -> Comm | None:
        group = split(whole(), colour, key)
        return None if group is None else as_graded(group)

    setattr(comm, "split", split_as_graded)  # noqa: B010, in the place of a method
    return comm


def _unwrapped(thing: Any) -> Any:
    """The function of a partial or of a method."""
    while isinstance(thing, partial | MethodType):
        thing = thing.func if isinstance(thing, partial) else thing.__func__
    return thing


class Search:
    """Looks through a function, and all of the same module that it uses."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._seen: set[int] = set()

    def paths(self, thing: Any, attributes: Sequence[str] = ()) -> Iterator[str]:
        """The paths of what it uses: "ddl_teach.collectives.ring.allreduce"."""
        while isinstance(thing, ModuleType) and attributes:
            name, *attributes = attributes
            thing = getattr(thing, name, None)
        thing = _unwrapped(thing)
        if id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        if isinstance(thing, ModuleType):
            yield thing.__name__
        elif isinstance(thing, FunctionType | type):
            path = f"{thing.__module__}.{thing.__qualname__}"
            if thing.__module__ != self._module or is_library(path):
                yield path
            elif isinstance(thing, type):
                for member in vars(thing).values():
                    yield from self.paths(member)
            else:
                yield from self._inside(thing)

    def _inside(self, function: FunctionType) -> Iterator[str]:
        code = function.__code__
        for names, kinds in ((function.__globals__, GLOBAL), (dict(_imported(code)), LOCAL)):
            for name, *attributes in names_loaded(code, kinds):
                yield from self.paths(names.get(name), attributes)
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                yield from self.paths(cell.cell_contents)


def _imported(code: CodeType) -> Iterator[tuple[str, Any]]:
    """The names that a function's own imports make, and what they stand for."""
    module, thing = "", None
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        with contextlib.suppress(ImportError):
            if instruction.opname == "IMPORT_NAME":
                module, thing = name, import_module(name.split(".")[0])
            elif instruction.opname == "IMPORT_FROM":
                whole = import_module(module)
                thing = whole if f".{name}" in module else getattr(whole, name, None)
            elif instruction.opname.startswith("STORE_") and module:
                yield name, thing
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _imported(inner)
