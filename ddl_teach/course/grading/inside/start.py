"""Starts the nursery in a fresh Python that knows nothing.

The packages above this folder would bring judges and solutions with them; empty ones stand in for
them, so that nothing a submission must not know is ever in memory here.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent


def main() -> None:
    """`start.py CONTROL MODULE...`: the file number of the grader's socket, what to import."""
    sys.path.append(str(FOLDER.parents[3]))
    for name, folder in (
        ("ddl_teach.course", FOLDER.parents[1]),
        ("ddl_teach.course.grading", FOLDER.parent),
    ):
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    for module in sys.argv[2:]:
        __import__(module)
    from ddl_teach.course.grading.inside.nursery import Nursery

    Nursery(socket.socket(fileno=int(sys.argv[1]))).serve()


if __name__ == "__main__":
    main()
