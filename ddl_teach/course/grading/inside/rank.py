"""One rank in its sandbox: runs the notebook's cells, then whatever the grader asks it to run.

Each rank runs the cells itself, as real ranks do, so that nothing is shared between them that was
not sent.
"""

from __future__ import annotations

import io
import linecache
import socket
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ddl_teach.comm.frames import error_text
from ddl_teach.course.grading.inside.remote_comm import MACHINERY, RemoteComm
from ddl_teach.course.grading.inside.wire import Unplain, receive_frame, send_frame

MOST_OUTPUT = 4_000  # characters: it is only shown
PACKAGE = "ddl_teach.course"


class Output(io.TextIOBase):
    """What is printed: the beginning of it is kept."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._room = MOST_OUTPUT

    def write(self, text: str) -> int:
        if self._room > 0:
            self._kept.append(text[: self._room])
            self._room -= len(text)
        return len(text)

    def taken(self) -> str:
        """What was kept since last asked."""
        text = "".join(self._kept)
        self._kept, self._room = [], MOST_OUTPUT
        return text


class Silent:
    """Stands for the classroom's things (engines, hints, pictures), which do nothing here."""

    def __call__(self, *_: Any, **__: Any) -> Silent:
        return self

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def live(link: socket.socket) -> None:
    """Answer the grader until it has no more to ask."""
    output = Output()
    sys.stdout = sys.stderr = output
    _forget_the_grader()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    while True:
        try:
            task, *words = receive_frame(link)
        except EOFError:
            return
        try:
            if task == "cells":
                value, arguments = _run_cells(namespace, *words), ()
            else:
                function, arguments, *place = words
                given = (RemoteComm(link, 0, *place), *arguments) if task == "run" else arguments
                value = namespace[function](*given)
            answer = ("returned", value, arguments, output.taken())
        except BaseException as error:
            answer = ("raised", error_text(error)[:500], _story(error), output.taken())
        try:
            send_frame(link, answer)
        except Unplain as error:
            what = f"TypeError: the function returned what cannot be looked at here: {error}"
            send_frame(link, ("raised", what, "", output.taken()))


def _run_cells(namespace: dict[str, Any], cells: Sequence[tuple[str, str]], function: str) -> None:
    for name, source in cells:
        # What speaks to the notebook (magics, shell lines) has nobody to speak to.
        lines = ["pass" if line.startswith(("%", "!")) else line for line in source.split("\n")]
        plain = "\n".join(lines)
        linecache.cache[name] = (len(plain), None, plain.splitlines(keepends=True), name)
        exec(compile(plain, name, "exec"), namespace)
    if not callable(namespace.get(function)):
        raise NameError(
            f"the answer cell defines no function {function}. Only this cell is run when the "
            "exercise is graded, so all that it needs must stand in it"
        )


def _story(error: BaseException) -> str:
    """The traceback without the frames of this machinery."""
    summary = traceback.TracebackException.from_exception(error, limit=-12)
    own = [frame for frame in summary.stack if not frame.filename.startswith(MACHINERY)]
    summary.stack = traceback.StackSummary.from_list(own)
    if not own and not isinstance(error, SyntaxError):
        return ""
    try:
        return "".join(summary.format())[:MOST_OUTPUT]
    except Exception:
        return ""


def _forget_the_grader() -> None:
    """Leave of the package what a notebook may import."""
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]
    classroom = ModuleType(PACKAGE, "The classroom, which is closed here.")
    classroom.__getattr__ = lambda name: Silent.__getattr__(Silent(), name)
    sys.modules[PACKAGE] = classroom
    sys.modules["ddl_teach"].course = classroom
