"""Where a rank is and what it raised: stacks and tracebacks without this project's own frames."""

import errno
import linecache
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from ddl_runtime import OURS

Place = tuple[str, int, str]  # file, line, function
ROOT = Path(__file__).resolve().parents[2]
# What others wrote: a learner wants to know the own line that called it.
LIBRARIES = (
    *(str(ROOT / name) + os.sep for name in OURS),
    "<frozen ",
    *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
)
OWN = f"{os.sep}ddl_runtime{os.sep}"
# The files that pass memory to MPI and keep a reference to it until MPI is done with it.
TELLING = tuple(
    f"{OWN}mpi{os.sep}{name}.py"
    for name in "communicator delivery device_protocols native_collectives point_to_point "
    "requests window".split()
)
FROZEN = "<frozen "  # of Python itself: `python -m` below everything, imports, abstract classes
_caller = sys._getframe
_lines: dict[Any, tuple[CodeType, str]] = {}  # of places in code
MOST_LINES = 1 << 12
LONG, SHOWN = 30, 48  # lines of a traceback, and letters of a line, that are read
# What stands between a rank's main loop and the learner's lines.
COURSE = f"{os.sep}ddl_class{os.sep}"
MACHINERY = (OWN, COURSE, f"{os.sep}IPython{os.sep}core{os.sep}")


def source_line(frame: FrameType | None) -> str:
    """The line of the program at which a rank is, and the line that called it."""
    places, begun, first = [], "", frame
    while frame is not None:
        if frame.f_code is _begun.__code__:
            begun = f", begun at {spot(*frame.f_locals['place'])}"
        places.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back if frame.f_back is not first else None  # in PyPy they are a ring
    return _tell(places) + begun


def innermost(thread: int | None) -> FrameType | None:
    """The frame in which a thread of this number runs, if there is one."""
    return sys._current_frames().get(thread or 0)


def begun_here(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, to be run in a thread; its waits and errors name the program's line that
    called this."""
    return partial(_begun, program_place(), function)


def program_place(calls: int = 1, frame: FrameType | None = None) -> Place:
    """File, line and function of the program's own line that led here (or to `frame`): of its
    innermost, and of a library's where the whole program is one's. The last `calls` calls were no
    program's."""
    frame, outside = frame or _caller(calls + 1), None  # those between cost nothing
    while frame is not None:
        code = frame.f_code
        author = _author(code.co_filename)
        if not author:
            return code.co_filename, frame.f_lineno, code.co_name
        if author == "library":
            outside = outside or (code.co_filename, frame.f_lineno, code.co_name)
        elif code is _begun.__code__:
            place: Place = frame.f_locals["place"]
            return place
        frame = frame.f_back
    return outside or ("", 0, "")


def program_line() -> str:
    """`program_place` as text. It is made once for a place in code, not for a line of a file: two
    cells may have one name."""
    frame: FrameType | None = _caller(3)
    start = _begun.__code__
    while frame and frame.f_code != start and _author(frame.f_code.co_filename) == "runtime":
        frame = frame.f_back
    key = frame and (id(frame.f_code), frame.f_lasti)
    if kept := _lines.get(key):
        return kept[1]
    place = program_place(frame=frame)
    text = spot(*place) if place[0] else ""
    if frame and not _author(frame.f_code.co_filename):
        if len(_lines) == MOST_LINES:
            _lines.clear()
        _lines[key] = frame.f_code, text  # no other code has its id while it is kept
    return text


@cache
def _author(file: str) -> str:
    """Who wrote a file: "runtime", "library", or "" for the program's author."""
    if any(part in file for part in (OWN, COURSE, FROZEN)):
        return "runtime"
    return "library" if file.startswith(LIBRARIES) else ""


def _begun(place: Place, function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:
        error.add_note(f"This ran in the background, begun at {spot(*place)}")
        raise


def importing(frame: FrameType) -> bool:
    """Whether a module is being imported there."""
    return any(file == "<frozen importlib._bootstrap>" for file in _files(frame))


def telling_mpi(frame: FrameType) -> bool:
    """Whether a message, a collective of MPI's or an access to a window is under way there."""
    return any(file.endswith(TELLING) for file in _files(frame))


def _files(frame: FrameType) -> Iterator[str]:
    return (inner.f_code.co_filename for inner, _ in traceback.walk_stack(frame))


def dumped_line(stack: str) -> str:
    """Like `source_line`, for a stack that faulthandler has written."""
    frames = re.findall(r'File "(.*)", line (\d+) in (.*)', stack)
    return _tell([(path, int(line), function) for path, line, function in frames])


def raised_line(error: BaseException) -> str:
    """Like `source_line`, for the place where an exception was raised."""
    stack = reversed(traceback.extract_tb(error.__traceback__))
    return _tell([(frame.filename, frame.lineno or 0, frame.name) for frame in stack])


def _tell(places: list[Place]) -> str:
    """The line of the program that a stack, innermost line first, stands at."""
    outside = [place for place in places if _author(place[0]) != "runtime"]
    if not outside:  # between two programs, or on the way into one or out of it
        return spot(*places[0]) if places else ""
    text = spot(*outside[0])
    own = next((place for place in outside if not _author(place[0])), outside[0])
    return text if own is outside[0] else f"{text}, called from {spot(*own)}"


def spot(path: str, line: int, function: str) -> str:
    """A place as text, with the source of a cell's line."""
    folder, name = os.path.split(path)
    if name.startswith("cell ["):
        text = f"line {line} of {name}"
    elif "ipykernel_" in folder:
        text = f"line {line} of the cell that defines {function}"
    else:
        return f"{name}:{line} in {function}"
    source = linecache.getline(path, line).strip()
    if len(source) > SHOWN:
        source = f"{source[: SHOWN - 4]} ..."
    return f"{text}: {source}" if source else text


def error_text(error: BaseException) -> str:
    """The last line of a traceback: the exception's type and what it says."""
    try:
        text = str(error)
    except Exception:
        text = "(its text could not be made)"
    if isinstance(error, SystemExit):
        return f"SystemExit({text}): the program called exit"
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__))
    wrong_call = isinstance(error, TypeError) and "positional argument" in text
    if wrong_call and all(OWN in file for file in files):
        text += ". A program's first parameter is its communicator: def program(comm, ...)"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        text += ". The disk is full, or your share of it: delete what is old, or write elsewhere"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def program_traceback(error: BaseException) -> str:
    """The traceback of a rank's exception without the frames of this package's machinery."""
    summary = traceback.TracebackException.from_exception(error)
    kept = [frame for frame in summary.stack if not any(m in frame.filename for m in MACHINERY)]
    for frame in kept:
        if "ipykernel_" in frame.filename and frame.line is not None:
            frame.filename = "notebook cell"
    if kept or isinstance(error, (SyntaxError, SystemExit)):  # these say it themselves
        summary.stack = traceback.StackSummary.from_list(kept)
    elif len(summary.stack) <= 2 or not getattr(error, "inside_program", True):
        return ""  # run_program could not even call it, or it had returned
    lines = "".join(summary.format()).splitlines(keepends=True)
    if len(lines) > LONG:  # of a function that calls itself again and again
        lines[LONG // 2 : -LONG // 2] = [f"  ... {len(lines) - LONG:,} lines like these ...\n"]
    return "".join(lines)
