"""A fault in a module that is imported already: the old functions get the code of the new ones.

Tests that stand in memory, collected once, can then be run on one fault after the other, each in a
fork of its own. What holds a function or a class of the module still holds the same object.
"""

import functools
import sys
from types import FunctionType, ModuleType

OURS = ("ddl_", "tests.", "test_")


class Declined(Exception):
    """This change cannot be made in memory: change the file, and begin a new process."""


def graft(name: str, source: str) -> None:
    """Give the module of this name the behaviour of this source."""
    old, new = sys.modules[name], ModuleType(name)
    vars(new).update({key: vars(old)[key] for key in ("__file__", "__package__", "__spec__")})
    exec(compile(source, str(old.__file__), "exec"), vars(new))
    seen: set[int] = set()
    for key, value in vars(new).items():
        if key.startswith("__") or isinstance(value, ModuleType):
            continue
        if not renewed(before := vars(old)[key], value, name, seen):
            _refuse_importers(key, before, name)
            setattr(old, key, value)


def renewed(old: object, new: object, home: str, seen: set[int]) -> bool:
    """Whether the old object behaves as the new one, after what could be put into it."""
    if old is new or id(old) in seen:
        return True
    own = type(old).__module__ == home and type(old).__qualname__ == type(new).__qualname__
    if type(old) is not type(new) and not own:
        return False
    seen.add(id(old))
    match old, new:
        case FunctionType(), FunctionType():
            _renew_function(old, new, home, seen)
            return True
        case type(), type():
            return old.__module__ != home or _renew_class(old, new, home, seen)
        case property(), property():
            pairs = (old.fget, new.fget), (old.fset, new.fset)
            return all(renewed(*pair, home, seen) for pair in pairs)
        case functools.cached_property(), functools.cached_property():
            return renewed(old.func, new.func, home, seen)
        case functools.partial(), functools.partial():
            same = (old.args, old.keywords) == (new.args, new.keywords)
            return renewed(old.func, new.func, home, seen) and same
        case staticmethod() | classmethod(), staticmethod() | classmethod():
            return renewed(old.__func__, new.__func__, home, seen)
        case dict(), dict() if old.keys() == new.keys():
            for key, value in new.items():
                if not renewed(old[key], value, home, seen):
                    old[key] = value
            return True
        case tuple() | list(), tuple() | list() if len(old) == len(new):
            return all(renewed(*pair, home, seen) for pair in zip(old, new, strict=True))
    if hasattr(old, "__wrapped__") and hasattr(new, "__wrapped__"):
        if hasattr(old, "cache_clear"):
            old.cache_clear()
        return renewed(old.__wrapped__, new.__wrapped__, home, seen)
    if own and hasattr(old, "__dict__") and vars(old).keys() == vars(new).keys():
        for key, value in vars(new).items():
            if not renewed(vars(old)[key], value, home, seen):
                vars(old)[key] = value
        return True
    try:
        return bool(old == new)
    except ValueError:  # arrays
        return False


def _renew_function(old: FunctionType, new: FunctionType, home: str, seen: set[int]) -> None:
    if len(old.__closure__ or ()) != len(new.__closure__ or ()):
        raise Declined(old.__qualname__)
    for cell, other in zip(old.__closure__ or (), new.__closure__ or (), strict=True):
        if not renewed(cell.cell_contents, other.cell_contents, home, seen):
            cell.cell_contents = other.cell_contents
    old.__code__ = new.__code__
    for before, after in zip(old.__defaults__ or (), new.__defaults__ or (), strict=False):
        renewed(before, after, home, seen)
    old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__


def _renew_class(old: type, new: type, home: str, seen: set[int]) -> bool:
    for key, value in vars(new).items():
        aside = key in ("__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__")
        if aside or key.startswith("_abc") or key in getattr(new, "__slots__", ()):
            continue
        if key not in vars(old):
            raise Declined(f"{old.__qualname__}.{key}")
        if not renewed(vars(old)[key], value, home, seen):
            setattr(old, key, value)
    return True


def _refuse_importers(key: str, value: object, home: str) -> None:
    for name, module in list(sys.modules.items()):
        holds = name.startswith(OURS) and vars(module).get(key, Declined) is value
        if holds and name != home:
            raise Declined(f"{name} holds {key}")
