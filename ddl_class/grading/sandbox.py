"""The grader's side of the sandbox: gives birth to ranks, talks to them, ends them.

What a rank can do to the machine is limited by walls that the kernel holds up: see `inside`. What
it can do to its score is limited by what it can say: its socket is its only way out, and whoever
reads that socket makes nothing of it but numbers and texts.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ddl_teach
from ddl_teach.course.grading.inside import landlock, start, wire
from ddl_teach.course.mistake import Mistake

PACKAGE = Path(ddl_teach.__file__).resolve().parent
SHOWN_OF_PACKAGE = ("__init__.py", "comm", "theory")  # the rest knows solutions, or leads there
SYSTEM = ("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
BOTH_WALLS, SECOND_WALL = "namespaces", "landlock"

NO_WALLS = """\
This machine offers nothing that would hold a submission: it is not graded here, because it could
read, change and delete what you can. {why}

What to do: grade on Linux 5.13 or later (any recent distribution; WSL2; a container of the course
on macOS or Windows). On Ubuntu 23.10 and later, allow user namespaces once:
  sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0
or grade as root, who becomes nobody inside. In a container, the default settings of a recent
Docker or Podman suffice."""


class NoWalls(Mistake):
    """Nothing on this machine would hold a submission."""


@dataclass(frozen=True)
class Limits:
    """What the code of one exercise may use."""

    seconds: float = 30.0  # by the clock, for all that one exercise asks for
    memory: int = 2**30  # bytes, of all ranks together and of each
    scratch: int = 16 * 2**20  # bytes of its private /tmp, and of any file
    under_way: int = 256 * 2**20  # bytes of messages sent but not received


class Ended(Exception):
    """A rank's process ended where it should have answered; the text says how."""


class Sandboxed:
    """One rank behind its walls."""

    def __init__(self, nursery: Nursery, process: int, link: socket.socket) -> None:
        self._nursery = nursery
        self._process = process
        self._link = link

    def ask(self, value: Any, deadline: float) -> Any:
        """Say something and hear the answer."""
        self.tell(value, deadline)
        return self.hear(deadline)

    def tell(self, value: Any, deadline: float) -> None:
        """Say something."""
        with self._noticing_the_end():
            wire.send_frame(self._link, value, deadline)

    def hear(self, deadline: float) -> Any:
        """What it says next: any value at all."""
        with self._noticing_the_end():
            return wire.receive_frame(self._link, deadline)

    @contextlib.contextmanager
    def _noticing_the_end(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, ConnectionError):
            raise Ended(self.end()) from None

    def end(self) -> str:
        """End it, with all that it started, and say how it had ended by itself, if it had."""
        self._link.close()
        if self._process == 0:
            return ""
        told = self._nursery.ask({"do": "bury", "process": self._process})
        self._process = 0
        return _how_it_ended(**told)


def _how_it_ended(alone: bool, status: int, reason: str) -> str:
    if reason == "memory":
        return "was ended: the ranks together used more memory than an exercise may have"
    if not alone:
        return "closed its connection to the grader"
    if status < 0:
        return f"was ended by signal {-status}: too much time or memory, or a crash"
    return f"ended in the middle, with exit status {status} (os._exit?)"


class Nursery:
    """The process in which sandboxes are made; one serves any number of submissions.

    `hidden` are folders and files of the grader's: the source, the submissions, the grades. They
    are covered even where they lie inside of what is shown. `walls` insists on one kind, and
    `modules` are imported once for all ranks.
    """

    def __init__(
        self, hidden: Iterable[Path] = (), walls: str = "", modules: Sequence[str] = ()
    ) -> None:
        if sys.platform != "linux":
            raise NoWalls(NO_WALLS.format(why=f"({sys.platform} has neither of the two walls.)"))
        self._place = tempfile.TemporaryDirectory(prefix="sandbox-")
        self._files = _files(hidden)
        self._control, other = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", start.__file__, str(other.fileno()), *modules],
            pass_fds=[other.fileno()],
            env=_environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        other.close()
        try:
            self.walls = self._find_walls([walls] if walls else [BOTH_WALLS, SECOND_WALL])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hang_up(self) -> None:
        """End every rank at once; whoever waits for one, in any thread, waits no longer."""
        with contextlib.suppress(OSError):  # it had ended before
            self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the nursery and every rank in it."""
        self._control.close()
        self._process.wait()
        self._place.cleanup()

    def birth(self, limits: Limits, walls: str = "") -> Sandboxed:
        """A new rank, behind its walls, that knows nothing yet."""
        link, other = socket.socketpair()
        with other:
            request = {
                "do": "birth",
                "apart": (walls or self.walls[0]) == BOTH_WALLS,
                "place": self._place.name,
                "seconds": max(1, round(limits.seconds)),
                "memory": limits.memory,
                "scratch": limits.scratch,
                **self._files,
            }
            told = self.ask(request, other)
        if "failed" in told:
            raise OSError(told["failed"])
        newborn = Sandboxed(self, told["born"], link)
        soon = time.monotonic() + 60  # its own code runs until it says this
        try:
            kind, newborn.walls = newborn.hear(soon)
        except Ended as ended:
            raise OSError(f"a rank {ended} before its walls stood") from None
        if kind != "confined":
            newborn.end()
            raise OSError(newborn.walls)
        newborn.tell("begin", soon)
        return newborn

    def ask(self, request: dict[str, Any], link: socket.socket | None = None) -> dict[str, Any]:
        """One request to the nursery and its answer."""
        files = [] if link is None else [link.fileno()]
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], files)
            answer = self._control.recv(2**16)
        except ConnectionError:
            answer = b""
        if not answer:
            raise Mistake(
                "The process that makes sandboxes has ended: is there too little memory? Type the "
                "same line again to go on, with a smaller --jobs."
            )
        return json.loads(answer)

    def _find_walls(self, choices: list[str]) -> list[str]:
        """Try which walls can be built here, before anything of a submission is read."""
        problems = []
        for choice in choices:
            try:
                newborn = self.birth(Limits(), choice)
            except OSError as error:
                problems.append(f"{choice}: {error}")
                continue
            newborn.end()
            if BOTH_WALLS in newborn.walls or {SECOND_WALL, "seccomp"} <= {*newborn.walls}:
                return newborn.walls
            problems.append(f"{choice}: without seccomp it does not suffice")
        raise NoWalls(NO_WALLS.format(why=f"({'; '.join(problems)})"))


def _environment() -> dict[str, str]:
    """What the nursery, and so every submission, sees: nothing of the grader's environment."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",  # or each thread reserves much of the memory that it may have
    }


def _files(hidden: Iterable[Path]) -> dict[str, list[str]]:
    """Which files can be seen, as lists of paths for either wall."""
    prefixes = [*map(str, (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))]
    prefixes += [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    package = [str(path) for path in PACKAGE.iterdir() if path.name in SHOWN_OF_PACKAGE]
    paths = [path for path in (*SYSTEM, *prefixes, *package) if os.path.lexists(path)]
    paths += [os.path.realpath(path) for path in paths]
    masked = [str(path) for path in PACKAGE.iterdir() if path.name not in SHOWN_OF_PACKAGE]
    masked += [str(Path(path).resolve()) for path in hidden]
    if (PACKAGE.parent / "pyproject.toml").exists():  # a clone, with solved notebooks and tests
        beside = [str(path) for path in PACKAGE.parent.iterdir() if path != PACKAGE]
        masked += [one for one in beside if not any(path.startswith(one) for path in paths)]
    shown = [
        path
        for path in dict.fromkeys(paths)
        if not any(path.startswith(other + "/") for other in paths if not os.path.islink(other))
    ]
    allowed = [pair for path in shown for pair in landlock.without(path, masked)]
    return {
        "shown": shown,
        "masked": masked,
        "readable": [path for path, whole in allowed if whole],
        "listable": [path for path, whole in allowed if not whole],
    }
