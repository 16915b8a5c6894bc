"""One rank in its sandbox: runs the notebook's cells, then whatever the grader asks it to run.

Each rank runs the cells itself, as real ranks do, so that nothing is shared between them that was
not sent.
"""

import io
import socket
import sys
import traceback
from functools import partial

from ddl_class.grading.inside.cells import Notebook
from ddl_class.grading.inside.remote_comm import MACHINERY, RemoteComm, call_back
from ddl_class.grading.inside.stand_ins import stand_in
from ddl_class.grading.inside.wire import Unplain, receive_frame, send_frame

MOST_OUTPUT = 4_000  # characters: it is only shown


class KeptOutput(io.TextIOBase):
    """What is printed: the beginning of it is kept."""

    def __init__(self) -> None:
        self._kept = ""

    def write(self, text: str) -> int:
        self._kept += text[: MOST_OUTPUT - len(self._kept)]
        return len(text)

    def taken(self) -> str:
        """What was kept since last asked."""
        text, self._kept = self._kept, ""
        return text


def live(link: socket.socket) -> None:
    """Answer the grader until it has no more to ask."""
    output = KeptOutput()
    sys.stdout = sys.stderr = output
    notebook = Notebook()
    while True:
        try:
            task, *words = receive_frame(link)
        except EOFError:
            return
        try:
            if task == "cells":
                *cells, allowed = words
                stand_in(allowed)
                notebook.run(*cells)
                value, arguments = None, ()
            else:
                function, arguments, *more = words
                if task == "run":
                    given = [RemoteComm(link, 0, *more), *arguments]
                else:
                    given = list(arguments)
                    for number in more[0]:
                        given[number] = partial(call_back, link, number)
                value = notebook.names[function](*given)
            answer = ("returned", value, arguments, output.taken())
        except BaseException as error:
            answer = ("raised", notebook.error_text(error)[:800], _story(error), output.taken())
        try:
            send_frame(link, answer)
        except Unplain as error:
            what = f"TypeError: the function returned what cannot be looked at here: {error}"
            send_frame(link, ("raised", what, "", output.taken()))


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
