"""Where ranks call their launcher back, and how they call: by a socket in a folder that both see,
or by TCP where the ranks are on other machines.

A caller proves that it knows the key, within a moment, so that a stranger holds nobody up. Lines
of TCP ask now and then whether the other end is still there: a machine that went off says no
goodbye.
"""

import contextlib
import os
import signal
import socket
import struct
from collections.abc import Hashable, Iterator
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    answer_challenge,
    deliver_challenge,
    wait,
)
from pathlib import Path
from typing import NamedTuple

PROOF_LIMIT = 5  # seconds for a caller to prove that it knows the key
# After so many seconds of silence, so often, so many times: then the other end is gone.
KEEP_ALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
LONGEST_ROW = 1024  # callers that may wait at the door


class Caller(NamedTuple):
    """A rank that was let in, on one of its lines."""

    line_end: Connection
    name: str  # of this one of its lines
    who: Hashable  # the same for all lines of one process
    pid: int  # its number here; 0 on another machine


class Door:
    """One end that listens; `address` is what callers are told."""

    def __init__(self, folder: Path, at: str | None, key: bytes) -> None:
        self._key = key
        self._path = folder / "line"
        self.far = at is not None
        if at is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(str(self._path))
            self._socket.listen(LONGEST_ROW)
            self.address = str(self._path)
        else:
            self._socket = socket.create_server((at, 0), backlog=LONGEST_ROW)
            self.address = f"{at}:{self._socket.getsockname()[1]}"

    def __enter__(self) -> "Door":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def knocked(self, patience: float) -> bool:
        """Whether somebody calls within `patience` seconds."""
        return bool(wait([self._socket], timeout=patience))

    def let_in(self) -> "Caller | None":
        """A caller that knows the key; None if it is a stranger."""
        caller, where = self._socket.accept()
        number = 0 if self.far else _process_number(caller)
        if self.far:
            _stay_alive(caller)
        line_end = Connection(caller.detach())
        try:
            _read_within(line_end, PROOF_LIMIT)
            deliver_challenge(line_end, self._key)
            answer_challenge(line_end, self._key)
            name, own_number = line_end.recv()
            _read_within(line_end, 0)  # from now on however long it takes
        except (OSError, EOFError, AuthenticationError):
            line_end.close()
            return None
        if self.far:
            return Caller(line_end, name, (where[0], own_number), 0)
        return Caller(line_end, name, number or own_number, number or own_number)


def call(address: str, key: bytes) -> Connection:
    """A line to the launcher that listens at this address."""
    if not is_far(address):
        return Client(address, authkey=key)
    host, _, port = address.rpartition(":")
    line_end = Client((host, int(port)), authkey=key)
    with _socket_of(line_end) as own:
        _stay_alive(own)
    return line_end


def is_far(address: str) -> bool:
    """Whether the launcher may be on another machine."""
    return not address.startswith("/")


def signal_when_written(line_end: Connection, number: signal.Signals) -> None:
    """From now on this process gets that signal whenever the other end writes on the line: the
    kernel sends it, so that it comes whatever the process does."""
    import fcntl  # which a browser's Python lacks

    descriptor = line_end.fileno()
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, number)
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_ASYNC)


def bytes_sent(net: Path = Path("/proc/net/dev"), fabric: Path = Path("/sys/class")) -> int:
    """What this node's network cards have sent so far, InfiniBand's included."""
    total = 0
    with contextlib.suppress(OSError):
        for line in net.read_text().splitlines()[2:]:
            name, counts = line.split(":")
            total += 0 if name.strip() == "lo" else int(counts.split()[8])
    for counter in fabric.glob("infiniband/*/ports/*/counters/port_xmit_data"):
        with contextlib.suppress(OSError, ValueError):
            total += 4 * int(counter.read_text())  # it counts words of four bytes
    return total


def _stay_alive(line: socket.socket) -> None:
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if hasattr(socket, name):
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _read_within(line_end: Connection, seconds: int) -> None:
    """From now on a read that takes longer fails; 0 is for ever."""
    with _socket_of(line_end) as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))


@contextlib.contextmanager
def _socket_of(line_end: Connection) -> Iterator[socket.socket]:
    with socket.socket(fileno=os.dup(line_end.fileno())) as own:
        yield own


def _process_number(caller: socket.socket) -> int:
    """The caller's process number as it is here, or 0 where the system does not say: on a node
    with a process table of its own, it knows itself by another."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    peer = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    number: int = struct.unpack("3i", peer)[0]
    return number
