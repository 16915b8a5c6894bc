"""One rank in its sandbox: runs the notebook's cells, then the tasks that the grader sends.

One rank chooses the statements that are needed, before any of them runs. Every rank runs them
itself, so ranks share nothing that was not sent.
"""

import io
import os
import sys
import tempfile
import traceback
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import numpy.random  # before the walls: NumPy itself loads it when it is first asked for

from ddl_class.grading.inside.notebook import AnswerFunction
from ddl_class.grading.inside.project import Finder, Imports
from ddl_class.grading.inside.refusals import refusing
from ddl_class.grading.inside.remote_comm import MACHINERY, RemoteComm, call_back
from ddl_class.grading.inside.wire import FrameSocket, Unplain, receive_frame, send_frame
from ddl_runtime.core.watch import Watch
from ddl_runtime.diagnosis.frames import error_text

MOST_OUTPUT = 4_000  # characters: it is only shown


class KeptOutput(io.TextIOBase):
    """What is printed: the beginning of it is kept."""

    def __init__(self) -> None:
        self._kept = ""

    def write(self, text: str) -> int:
        self._kept += text[: MOST_OUTPUT - len(self._kept)]
        return len(text)

    def taken(self) -> str:
        text, self._kept = self._kept, ""
        return text


def live(link: FrameSocket) -> None:
    """Carry out the grader's tasks until it closes the connection."""
    output = KeptOutput()
    sys.stdout = sys.stderr = output
    tempfile.tempdir = "/tmp"  # or Python would look for one that it may write into
    # Or all ranks would draw what the fork server would have drawn; a number is soonest done.
    np.random.seed(int.from_bytes(os.urandom(4)))
    while True:
        try:
            task, *words = receive_frame(link)
        except EOFError:
            return
        try:
            value, arguments = None, ()
            if task == "choose":
                value = AnswerFunction.chosen(*words)
            elif task == "cells":
                chosen, allowed = words
                sys.meta_path.insert(0, Finder(allowed))
                with refusing():
                    function = AnswerFunction(*chosen).make(Imports(allowed))
            else:
                arguments, *more = words
                watch = Watch()
                if task == "run":
                    given = [RemoteComm(link, watch, count(1), 0, *more), *arguments]
                else:
                    given = list(arguments)
                    for number in more[0]:
                        given[number] = partial(call_back, link, number)
                with refusing():
                    value = function(*given)
                watch.conclude()
            answer: tuple[Any, ...] = ("returned", value, arguments, output.taken())
        except BaseException as error:
            answer = ("raised", error_text(error)[:800], _story(error), output.taken())
        try:
            send_frame(link, answer)
        except Unplain as error:
            what = f"TypeError: the grader cannot read what the function returned: {error}"
            send_frame(link, ("raised", what, "", output.taken()))


def _story(error: BaseException) -> str:
    """The traceback without the frames of this package."""
    summary = traceback.TracebackException.from_exception(error, limit=-12)
    own = [frame for frame in summary.stack if not frame.filename.startswith(MACHINERY)]
    summary.stack = traceback.StackSummary.from_list(own)
    if not own and not isinstance(error, SyntaxError):
        return ""
    try:
        return "".join(summary.format())[:MOST_OUTPUT]
    except Exception:
        return ""
