"""Processes of notebooks that begin with torch loaded: copies of one that has loaded it.

    python tests/warm_start.py                      waits for those who call the socket on stdin
    python tests/warm_start.py -m MODULE [WORDS]    as `python -m MODULE WORDS`, but in a copy

A kernel and four engines would spend as much on loading torch as on most notebooks. The one who
asks stays: it passes signals on and has the copy's exit status. It ends with its own parent, and
the copy with it.
"""

import contextlib
import gc
import os
import pickle
import runpy
import select
import signal
import socket
import subprocess
import sys
from functools import cache

ADDRESS = "DDL_TEACH_WARM"  # in the environment: the path of the socket
MOST = 1 << 17  # bytes of a request, which are words and an environment
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def meeting() -> socket.socket:
    """A socket that keeps messages whole."""
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


@cache
def begin(address: str) -> str:
    """Start the one that waits at this address; returns it."""
    with meeting() as door:
        door.bind(address)
        door.listen()
        subprocess.Popen([sys.executable, __file__], stdin=door)
    return address


def ask(words: list[str]) -> int:
    """Have a copy run this module; returns its exit status."""
    with meeting() as line:
        line.connect(os.environ[ADDRESS])
        request = pickle.dumps((words, dict(os.environ), os.getcwd()))
        socket.send_fds(line, [request], [0, 1, 2])
        group = int(line.recv(MOST))
        for number in PASSED_ON:
            signal.signal(number, lambda number, _: os.killpg(group, number))
        status, parent = None, os.getppid()
        line.settimeout(1)
        while status is None:
            with contextlib.suppress(TimeoutError):
                status = int(line.recv(MOST) or 1)
            if os.getppid() != parent:
                return 1
    if status < 0:  # a signal has ended it
        for number in PASSED_ON:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def wait() -> None:
    """Load what takes long, then make a copy for each who asks. Only copies return, to run."""
    import ipykernel.kernelapp  # noqa: F401
    import torch  # noqa: F401

    gc.freeze()  # a copy need not look at it, which would copy it
    with socket.socket(fileno=os.dup(0)) as door:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a keeper has ended
        parent, copied = os.getppid(), False
        door.settimeout(1)
        while not copied:
            with contextlib.suppress(TimeoutError):
                line, _ = door.accept()
                if not (copied := os.fork() == 0):
                    line.close()
            if os.getppid() != parent and not copied:
                sys.exit()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files, *_ = socket.recv_fds(line, MOST, 3)
    if copy := os.fork():
        keep(copy, line)
    line.close()
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    become(*pickle.loads(request))


def keep(copy: int, line: socket.socket) -> None:
    """Tell how the copy ends, and end it if the one who asked for it has ended."""
    line.send(str(copy).encode())
    ended = os.pidfd_open(copy)
    ready, _, _ = select.select([line, ended], [], [])
    if ended not in ready:
        os.killpg(copy, signal.SIGKILL)
    _, status = os.waitpid(copy, 0)
    if ended in ready:
        line.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(words: list[str], environment: dict[str, str], folder: str) -> None:
    """Run a module as a process that has just begun in this environment and folder."""
    import numpy as np

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    np.random.seed()  # no copy draws what another one draws
    _, module, *sys.argv[1:] = words
    sys.path[0] = folder
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(ask(sys.argv[1:]))
    wait()
