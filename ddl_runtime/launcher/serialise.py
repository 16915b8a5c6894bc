"""Sending a program to other processes.

Functions of the caller's own module travel by value. So a program may live in a script, a test or
a notebook cell, and is as new as its last edit. Installed modules are imported there.
"""

import contextlib
import functools
import importlib
import io
import linecache
import site
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ddl_runtime import OURS
from ddl_runtime.core.checks import check_program

# cloudpickle keeps one list of such modules for all threads.
_LISTING = threading.Lock()


def ship(program: Callable[..., Any], kwargs: dict[str, Any]) -> bytes:
    """The program and its arguments as bytes, and the lines of notebook cells that errors may
    quote."""
    import cloudpickle  # simulated ranks do without it

    check_program(program)
    modules = {_module(function) for function in _functions(program, *kwargs.values())} - {None}
    with _LISTING, contextlib.ExitStack() as stack:
        for module in modules:
            if module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                stack.callback(cloudpickle.unregister_pickle_by_value, module)
        # The lines of a notebook's cells, so that the errors of ranks can quote them.
        cells = {name: lines for name, lines in linecache.cache.items() if "ipykernel_" in name}
        try:
            return _pickled((program, kwargs, cells))
        except Exception as error:
            name = getattr(program, "__name__", repr(program))
            raise TypeError(
                f"{name} cannot be sent to other processes: {error}. A program and its arguments "
                "may hold data and functions, but no open files, locks, generators or "
                "communicators."
            ) from error


def _pickled(value: Any) -> bytes:
    """The value by cloudpickle; modules of a special type, such as torch.ops, by their name."""
    from cloudpickle import Pickler

    class ModulesByName(Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            special = isinstance(obj, ModuleType) and type(obj) is not ModuleType
            if special and sys.modules.get(obj.__name__) is obj:
                return importlib.import_module, (obj.__name__,)
            return super().reducer_override(obj)

    file = io.BytesIO()
    ModulesByName(file).dump(value)
    return file.getvalue()


def _functions(*values: Any) -> Iterator[Any]:
    """All that has code of its own, also inside `functools.partial` and lists."""
    for value in values:
        if isinstance(value, functools.partial):
            yield from _functions(value.func, *value.args, *value.keywords.values())
        elif isinstance(value, (list, tuple)):
            yield from _functions(*filter(callable, value))
        elif isinstance(value, dict):
            yield from _functions(*filter(callable, value.values()))
        else:
            yield value


def _module(value: Any) -> ModuleType | None:
    """The module that the code of a function, class or object comes from, if it must travel:
    unless other processes can import it as it is."""
    name = getattr(value, "__module__", None)
    module = sys.modules.get(name) if isinstance(name, str) and name != "__main__" else None
    file = getattr(module, "__file__", None)
    if module is None or file is None or module.__name__.split(".")[0] in OURS:
        return None
    installed = [*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("stdlib")]
    return None if any(Path(folder) in Path(file).parents for folder in installed) else module
