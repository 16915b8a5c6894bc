"""What an answer may not ask the system for, in a notebook as behind the walls.

The walls refuse new processes, the network and signals to other processes. `check` has no walls,
and `os.system` returns a number where they refuse it: so Python refuses them in both.
"""

import errno
import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# As Python's audit events name them.
REFUSED = frozenset({
    "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn", "os.system",
    "socket.bind", "socket.connect", "socket.getaddrinfo", "subprocess.Popen",
})  # fmt: skip
_answering = ContextVar("_answering", default=False)


@contextmanager
def refusing() -> Iterator[None]:
    """Refuse them meanwhile, to the rank whose program this is."""
    _listen()
    before = _answering.set(True)
    try:
        yield
    finally:
        _answering.reset(before)


@functools.cache
def _listen() -> None:
    sys.addaudithook(_refuse)


def _refuse(event: str, _: object) -> None:
    if event in REFUSED and _answering.get():
        raise PermissionError(errno.EPERM, f"{event} is refused where exercises are graded")
