"""Where a rank is, and what it raised: frames and tracebacks without this package's machinery."""

from __future__ import annotations

import linecache
import os
import re
import sysconfig
import traceback
from pathlib import Path
from types import FrameType

# What others wrote: a learner wants to know the own line that called it.
LIBRARIES = (
    str(Path(__file__).resolve().parents[1]),
    "<frozen ",
    *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
)
OWN = f"{os.sep}ddl_teach{os.sep}comm{os.sep}"
# What stands between a rank's main loop and the learner's lines.
COURSE = f"{os.sep}ddl_teach{os.sep}course{os.sep}"
MACHINERY = (OWN, COURSE, f"{os.sep}IPython{os.sep}core{os.sep}")


def source_line(frame: FrameType | None) -> str:
    """Where a rank is: the innermost line outside `comm`, and where the learner called it from."""
    while frame is not None and OWN in frame.f_code.co_filename:
        frame = frame.f_back
    if frame is not None and frame.f_code.co_filename.startswith("<frozen"):
        return ""  # between two programs
    if frame is None:
        return ""
    text = _spot(*_place(frame))
    caller = frame
    while caller is not None and caller.f_code.co_filename.startswith(LIBRARIES):
        caller = caller.f_back
    if caller is not None and caller is not frame:
        text += f", called from {_spot(*_place(caller))}"
    return text


def _place(frame: FrameType) -> tuple[str, int, str]:
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name


def _spot(path: str, line: int, function: str) -> str:
    folder, name = os.path.split(path)
    source = linecache.getline(path, line).strip()
    if name.startswith("cell ["):
        return f"line {line} of {name}" + (f": {source}" if source else "")
    if "ipykernel_" in folder:
        text = f"line {line} of the cell that defines {function}"
        return text + (f": {source}" if source else "")
    return f"{name}:{line} in {function}"


def dumped_line(stack: str) -> str:
    """The same of a stack that faulthandler has written down, innermost line first."""
    for path, line, function in re.findall(r'File "(.*)", line (\d+) in (.*)', stack):
        if not any(machinery in path for machinery in MACHINERY):
            return _spot(path, int(line), function)
    return ""


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
    for frame in kept:
        if "ipykernel_" in frame.filename and frame.line is not None:
            frame.filename = "notebook cell"
    if kept or isinstance(error, SyntaxError):  # that one brings its own line
        summary.stack = traceback.StackSummary.from_list(kept)
    elif len(summary.stack) == 1:
        return ""  # it could not even be called
    return "".join(summary.format())


def _inside(error: BaseException) -> bool:
    """Whether the program itself had begun."""
    frames = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(OWN not in filename for filename in frames)
