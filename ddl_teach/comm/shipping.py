"""Sending a program to other processes.

Functions of the caller's own module travel by value, so that a program may live in a script, a
test or a notebook cell and be as new as its last edit. Installed modules are imported there.
"""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle


def ship(program: Callable[..., Any], kwargs: dict[str, Any]) -> bytes:
    """The program and its arguments as bytes."""
    if not callable(program):
        raise TypeError(f"the program must be a function of a communicator, not {program!r}")
    module = sys.modules.get(getattr(program, "__module__", None) or "")
    own = module is not None and module.__name__ != "__main__" and not _is_installed(module)
    if own:
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps((program, kwargs))
    except Exception as error:
        name = getattr(program, "__name__", repr(program))
        raise TypeError(
            f"{name} cannot be sent to other processes: {error}. A program and its arguments may "
            "hold data and functions, but no open files, locks, generators or communicators."
        ) from error
    finally:
        if own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_installed(module: Any) -> bool:
    """Whether other processes can import the module as it is."""
    file = getattr(module, "__file__", None)
    if file is None or module.__name__.split(".")[0] == "ddl_teach":
        return True
    installed = [*site.getsitepackages(), sysconfig.get_path("stdlib")]
    return any(Path(folder) in Path(file).parents for folder in installed)
