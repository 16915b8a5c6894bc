"""What an answer may not ask the system for, in a notebook as behind the walls.

The walls refuse new processes, the network, signals to other processes, links, and changes of a
file's mode, owner or times. Some let a rank write into an empty folder of its own, others nowhere;
in a notebook all ranks would share that folder. `check` has no walls, and `os.system` returns a
number where they refuse it: so Python refuses all of this in both, in the same words.
"""

import errno
import functools
import inspect
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# As Python's audit events name them.
REFUSED = frozenset({
    "os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.link",
    "os.mkdir", "os.posix_spawn", "os.remove", "os.removexattr", "os.rename", "os.rmdir",
    "os.setxattr", "os.symlink", "os.system", "os.truncate", "os.utime", "socket.bind",
    "socket.connect", "socket.getaddrinfo", "sqlite3.connect", "subprocess.Popen",
})  # fmt: skip
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
SOCKET = "socket.__new__"  # a new one, or an object for one of a pair, which asyncio needs
_answering = ContextVar("_answering", default=False)
_listen_once = functools.cache(sys.addaudithook)


@contextmanager
def refusing() -> Iterator[None]:
    """Refuse them meanwhile, to the rank whose program this is."""
    tempfile.gettempdir()  # which Python looks for by writing there, once
    _listen_once(_refuse)
    before = _answering.set(True)
    try:
        yield
    finally:
        _answering.reset(before)


def _refuse(event: str, about: tuple[Any, ...]) -> None:
    refused = event in REFUSED
    if event == "open":
        path, *_, flags = about
        refused = bool(flags & WRITES) and path != os.devnull and not isinstance(path, int)
        event = "open for writing"
    if event == SOCKET and (hook := inspect.currentframe()) and hook.f_back:
        refused = hook.f_back.f_locals.get("fileno") is None
    if refused and _answering.get():
        raise PermissionError(errno.EPERM, f"{event} is refused where exercises are graded")
