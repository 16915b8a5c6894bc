"""Whose program runs here: for libraries that nobody hands a communicator, as torch's."""

import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple, NoReturn

from ddl_runtime.core.communicator import Comm
from ddl_runtime.core.unknown_verbs import unknown_verb


class Running(NamedTuple):
    """The communicator of a program, and what is to be done when it has ended."""

    comm: Comm
    endings: list[Callable[[], None]]


# A thread has its own, and so has a greenlet: simulated ranks do not see one another's.
_running: ContextVar[Running | None] = ContextVar("the program that runs", default=None)


def run_program(program: Callable[..., Any], comm: Comm, kwargs: dict[str, Any]) -> Any:
    """`program(comm, **kwargs)`, as the one that runs here."""
    running = Running(comm, [])
    token = _running.set(running)
    try:
        return program(comm, **kwargs) if kwargs else program(comm)
    except AttributeError as error:
        # Told here: `__getattr__` would make each use of a verb slower, and there are millions.
        if isinstance(error.obj, Comm):
            error.args = (unknown_verb(str(error.name), [*vars(error.obj), *dir(error.obj)]),)
            error.obj = None  # or Python adds advice of its own
        raise
    finally:
        for ending in reversed(running.endings):
            ending()
        _running.reset(token)


def running_comm() -> Comm | None:
    """The communicator that the program of this rank was given; None outside of one, and in its
    functions in the background."""
    running = _running.get()
    return None if running is None else running.comm


def at_end(function: Callable[[], None]) -> None:
    """Call it when the program that runs here has ended, however that is."""
    running = _running.get()
    if running is None:
        raise RuntimeError("no rank's program runs here: call it inside a rank program")
    running.endings.append(function)


def end_process(status: int) -> NoReturn:
    """End this process at once: nothing that Python or MPI would do at the end is waited for."""
    os._exit(status)
