"""Starts the fork server in a fresh Python.

The packages above this folder would import judges and solutions, so empty packages stand in for
them: nothing that a submission must not see is in this process's memory.
"""

import contextlib
import json
import socket
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]


class Own(MetaPathFinder):
    """Finds the project's packages beside this file's, also where another copy is installed."""

    def __init__(self, packages: list[str]) -> None:
        self._packages = packages

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        if fullname not in self._packages:
            return None
        return PathFinder.find_spec(fullname, [str(ROOT)])


def main() -> None:
    """`start.py CONTROL PACKAGES MODULE...`: the file number of the grader's socket, the project's
    packages, modules to import; standard input lists the visible files."""
    sys.meta_path.insert(0, Own(sys.argv[2].split(",")))
    sys.path.append(str(ROOT))
    for name, folder in (("ddl_class", FOLDER.parents[1]), ("ddl_class.grading", FOLDER.parent)):
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    # Landlock forbids listing the folder of `ddl_teach`, so its parts are imported beforehand.
    for module in ("ddl_teach", *sys.argv[3:]):
        with contextlib.suppress(ImportError):  # not installed: importing it again raises again
            __import__(module)
    from ddl_class.grading.inside.fork_server import ForkServer

    ForkServer(socket.socket(fileno=int(sys.argv[1])), json.load(sys.stdin)).serve()


if __name__ == "__main__":
    main()
