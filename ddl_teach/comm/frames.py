"""Where a rank is, and what it raised: frames and tracebacks without this package's machinery."""

from __future__ import annotations

import linecache
import os
import traceback
from types import FrameType

OWN = f"{os.sep}ddl_teach{os.sep}comm{os.sep}"
# What stands between a rank's main loop and the learner's lines.
MACHINERY = (OWN, f"{os.sep}course{os.sep}engines{os.sep}", f"{os.sep}IPython{os.sep}core{os.sep}")


def source_line(frame: FrameType | None) -> str:
    """Where a rank is: the innermost line outside `comm`, and where the learner called it from."""
    package = f"{os.sep}ddl_teach{os.sep}"
    while frame is not None and OWN in frame.f_code.co_filename:
        frame = frame.f_back
    if frame is not None and frame.f_code.co_filename.startswith("<frozen"):
        return ""  # between two programs
    if frame is None:
        return ""
    text = _spot(frame)
    caller = frame
    while caller is not None and package in caller.f_code.co_filename:
        caller = caller.f_back
    if caller is not None and caller is not frame and OWN not in caller.f_code.co_filename:
        text += f", called from {_spot(caller)}"
    return text


def _spot(frame: FrameType) -> str:
    folder, name = os.path.split(frame.f_code.co_filename)
    function = frame.f_code.co_name
    if "ipykernel_" in folder:
        return f"line {frame.f_lineno} of the cell that defines {function}"
    if name.startswith("cell ["):
        source = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        return f"line {frame.f_lineno} of {name}: {source}"
    return f"{name}:{frame.f_lineno} in {function}"


def error_text(error: BaseException) -> str:
    """The last line of a traceback: the exception's type and what it says."""
    try:
        text = str(error)
    except Exception:
        text = "(its text could not be made)"
    if isinstance(error, SystemExit):
        return f"SystemExit({text}): the program called exit"
    if isinstance(error, TypeError) and "positional argument" in text and not _inside(error):
        text += ". A program's first parameter is its communicator: def program(comm, ...)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def program_traceback(error: BaseException) -> str:
    """The traceback of a rank's exception without the frames of this package's machinery."""
    summary = traceback.TracebackException.from_exception(error)
    kept = [frame for frame in summary.stack if not any(m in frame.filename for m in MACHINERY)]
    if kept or isinstance(error, SyntaxError):  # that one brings its own line
        summary.stack = traceback.StackSummary.from_list(kept)
    elif len(summary.stack) == 1:
        return ""  # it could not even be called
    return "".join(summary.format())


def _inside(error: BaseException) -> bool:
    """Whether the program itself had begun."""
    frames = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(OWN not in filename for filename in frames)
