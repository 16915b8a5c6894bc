"""Find the function that `program.py:function` names, and the values it is to be called with."""

import ast
import importlib.util
import inspect
import os
import sys
import traceback
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from ddl_class.commands.mistake import Mistake


class BrokenFile(Exception):
    """The program's file raised while it was imported; the text is the learner's own traceback."""


def load_program(target: str) -> Callable[..., Any]:
    """Return the function named by ``target``, its file imported as Python would import it."""
    file_name, _, function_name = target.partition(":")
    # As Python does for a script, and for good: ranks take over this list of folders, and import
    # there by name what the program imports from beside it.
    sys.path.insert(0, str(Path(file_name).resolve().parent))
    module = _read_module(Path(file_name))
    functions = {
        name: function
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    listed = ", ".join(functions) or "none"
    if not function_name:
        example = next(iter(functions), "function")
        raise Mistake(
            f"Which function of {file_name}? Write {file_name}:{example}, say.\n"
            f"Its functions: {listed}"
        )
    if function_name not in functions:
        raise Mistake(f"{file_name} has no function {function_name}. Its functions: {listed}")
    return functions[function_name]


def read_arguments(program: Callable[..., Any], pairs: list[str]) -> dict[str, Any]:
    """Turn ``name=value`` pairs into keyword arguments that ``program`` accepts."""
    arguments = read_pairs("--arg", pairs)
    signature = inspect.signature(program)
    try:
        signature.bind("the communicator", **arguments)
    except TypeError as error:
        raise Mistake(
            f"{program.__name__}{signature} cannot be called with a communicator"
            f"{''.join(f', {name}=...' for name in arguments)}: {error}.\n"
            "A rank program takes the communicator first; give the others as --arg name=value."
        ) from error
    return arguments


def read_pairs(option: str, pairs: list[str]) -> dict[str, Any]:
    """What ``name=value`` pairs say, each value read as Python would."""
    values = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise Mistake(f"{option} takes name=value, not '{pair}'")
        try:
            values[name] = ast.literal_eval(text)  # 3, 1e-3, [1, 2], True
        except (ValueError, SyntaxError):
            values[name] = text
    return values


def import_file(path: Path) -> ModuleType:
    """The module in this file. It finds the files beside it, and none of them stays known by its
    name: another folder may have a file of the same name."""
    folder = path.resolve().parent
    names = [other.stem for other in folder.glob("*.py")]
    elsewhere = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(folder))
    try:
        return _read_module(path)
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(elsewhere)


def _read_module(path: Path) -> ModuleType:
    """The module in this file, under a name of its own; ranks are sent its functions whole."""
    if not path.is_file():
        beside = ", ".join(sorted(other.name for other in path.parent.glob("*.py")))
        there = f"Python files there: {beside}" if beside else "No Python file is there."
        raise Mistake(f"There is no file {path}. {there}")
    if path.suffix != ".py":
        raise Mistake(f"{path} is not a Python file: a program's name ends in .py")
    path = path.resolve()
    name = f"{path.stem}_{zlib.crc32(os.fsencode(path)):08x}"
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        frames = error.__traceback__  # from the learner's file on
        while frames is not None and frames.tb_frame.f_code.co_filename != str(path):
            frames = frames.tb_next
        lines = "".join(traceback.format_exception(type(error), error, frames)).rstrip()
        raise BrokenFile(f"{path.name} could not be imported.\n\n{lines}") from error
    # The ranks cannot import this file by name: its functions travel to them whole.
    cloudpickle.register_pickle_by_value(module)
    return module
