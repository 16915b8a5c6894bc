"""The grader's side of the sandbox: which files it shows, and how ranks are started and ended.

The kernel limits what a rank can do to the machine: see `inside`. A rank's socket is its only way
out, and the grader reads nothing but numbers and texts from it. A rank sees Python with its
packages, and of this project only the list in `inside.project`. The project's files are those of a
clone that runs here, those in the record of each installation, and an installation's folder or
archive.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.inside import landlock, start, wire
from ddl_class.grading.inside.project import DISTRIBUTION, ROOT, SHOWN, packages, top_level

SYSTEM = ("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
PREFIXES = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
LIBRARIES = tuple(map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")))

NO_RECORD = """\
{folder} holds ddl_teach among other packages, without the record of its files that pip makes. It
is unknown which files must be hidden from submissions, so nothing is graded.

What to do: install it with pip, or grade from a clone of the repository."""


def files_seen(hidden: Iterable[Path]) -> dict[str, list[str]]:
    """The paths for both walls: for namespaces `shown` without `masked`; for Landlock the same as
    `readable`, and folders of which only `parts` are readable."""
    listed = [str(ROOT / name) for name in SHOWN]
    paths = [path for path in (*SYSTEM, *PREFIXES, *LIBRARIES, *listed) if os.path.lexists(path)]
    paths += [os.path.realpath(path) for path in paths]
    shown = [
        path
        for path in dict.fromkeys(paths)
        if not any(path.startswith(other + "/") for other in paths if not os.path.islink(other))
    ]
    masked = [
        str(path) for folder in _project() for path in _off_the_list(folder, {*map(Path, paths)})
    ]
    masked += [str(Path(path).resolve()) for path in hidden]
    for path in shown:  # masked files have other names where what is shown is reached by a link
        real = os.path.realpath(path)
        if real != path and not os.path.islink(path):
            masked += [path + mask[len(real) :] for mask in masked if mask.startswith(real + "/")]
    masked = list(dict.fromkeys(masked))
    allowed = [pair for path in shown for pair in landlock.without(path, masked)]
    return {
        "shown": shown,
        "masked": masked,
        "readable": [path for path, whole in allowed if whole],
        "parts": [path for path, whole in allowed if not whole],
    }


def _project() -> Iterator[Path]:
    """The project's files and folders on this machine, as far as they are recorded."""
    sites = [*site.getsitepackages([*PREFIXES]), *filter(None, LIBRARIES)]
    folders = dict.fromkeys(os.path.realpath(path) for path in (*sites, *sys.path, str(ROOT)))
    recorded = set()
    for installed in metadata.distributions(name=DISTRIBUTION, path=list(folders)):
        brought = [path.parent.resolve() / path.name for path in top_level(installed).values()]
        recorded.update(brought)
        yield from brought
        origin = json.loads(installed.read_text("direct_url.json") or "{}").get("url", "")
        if origin.startswith("file:"):
            yield Path(unquote(urlsplit(origin).path)).resolve()
    if ROOT / Path(SHOWN[0]).parts[0] in recorded:
        return
    if str(ROOT) in map(os.path.realpath, sites):
        raise Mistake(NO_RECORD.format(folder=ROOT))
    yield from ROOT.iterdir()


def _off_the_list(path: Path, kept: set[Path]) -> Iterator[Path]:
    """`path`, or those parts of it that are not `kept`."""
    if path in kept or not os.path.lexists(path):
        return
    if any(path in shown.parents for shown in kept):
        for inner in path.iterdir():
            yield from _off_the_list(inner, kept)
    else:
        yield path


ENDED = """\
A process that grades has ended: is there too little memory? Type the same line again to go on,
with a smaller --jobs."""

BY_A_LIMIT = (signal.SIGKILL, signal.SIGXCPU)  # what the system sends where a limit is reached
BOTH_WALLS, SECOND_WALL = "namespaces", "landlock"

# What the fork server, and so every submission, sees: nothing of the grader's environment.
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",  # or each thread reserves much of the memory that it may have
}
NO_WALLS = """\
This machine cannot confine a submission, so nothing is graded: its code could read, change and
delete all that you can. {why}

What to do: grade on Linux 5.13 or later (any recent distribution; WSL2; a container of the course
on macOS or Windows). On Ubuntu 24.04 and later, allow user namespaces once:
  sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0
or grade as root: submissions then run as the user "nobody". In a container, the default settings
of a recent Docker or Podman suffice."""


@dataclass(frozen=True)
class Limits:
    """What the code of one exercise may use."""

    seconds: float = 30.0  # by the clock, for all that one exercise asks for
    memory: int = 2**30  # bytes, of all ranks together and of each
    scratch: int = 16 * 2**20  # bytes of its private /tmp, and of any file
    under_way: int = 256 * 2**20  # bytes of messages sent but not received


class Ended(Exception):
    """A rank's process ended before it answered; the text says how. `limit` is the limit that
    ended it: "memory", "time or memory" where both can be, or ""."""

    def __init__(self, how: str, limit: str = "") -> None:
        super().__init__(how)
        self.limit = limit


class Sandboxed:
    """One rank in its sandbox."""

    def __init__(self, server: SandboxServer, process: int, link: socket.socket) -> None:
        self._server = server
        self._process = process
        self._link = wire.FrameSocket(link, ticks=True)

    def tell(self, value: Any, deadline: float) -> None:
        try:
            wire.send_frame(self._link, value, deadline)
        except (EOFError, ConnectionError):
            raise self.end() from None

    def hear(self, deadline: float) -> Any:
        """The next value from the rank; it can be anything."""
        try:
            return wire.receive_frame(self._link, deadline)
        except (EOFError, ConnectionError):
            raise self.end() from None

    def end(self) -> Ended:
        """End the rank and all processes that it started; returns how it had ended by itself, if
        it had."""
        self._link.close()
        if self._process == 0:
            return Ended("had ended before")
        status = self._server.ask({"do": "reap", "process": self._process})
        self._process = 0
        return _how_it_ended(**status)


def _how_it_ended(alone: bool, status: int, reason: str) -> Ended:
    if reason == "memory":
        how = "was ended: the ranks together used more memory than an exercise may have"
        return Ended(how, "memory")
    if not alone:
        return Ended("closed its connection to the grader")
    if status < 0:
        how = f"was ended by signal {-status}: too much time or memory, or a crash"
        return Ended(how, "time or memory" if -status in BY_A_LIMIT else "")
    return Ended(f"ended in the middle, with exit status {status} (os._exit?)")


class SandboxServer(contextlib.AbstractContextManager["SandboxServer"]):
    """The process that makes sandboxes; one serves any number of submissions.

    `hidden` are files and folders of the grader, which are covered even inside of what is shown:
    the source, the submissions, the grades. `walls` asks for one kind; `modules` are imported
    once.
    """

    def __init__(
        self, hidden: Iterable[Path] = (), walls: str = "", modules: Sequence[str] = ()
    ) -> None:
        if sys.platform != "linux":
            why = f"({sys.platform} has neither user namespaces nor Landlock)"
            raise Mistake(NO_WALLS.format(why=why))
        files = json.dumps(files_seen(hidden))
        self._place = tempfile.TemporaryDirectory(prefix="sandbox-")
        self._control, other = socket.socketpair()
        own = ",".join(packages())
        with other, tempfile.TemporaryFile("w+") as last_words:
            last_words.write(files)
            last_words.seek(0)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", start.__file__, str(other.fileno()), own, *modules],
                pass_fds=[other.fileno()],
                env=ENVIRONMENT,
                cwd="/",
                stdin=last_words,
                start_new_session=True,
            )
        try:
            self.walls = self._find_walls([walls] if walls else [BOTH_WALLS, SECOND_WALL])
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def hang_up(self) -> None:
        """End all ranks at once; threads that wait for one get an error."""
        with contextlib.suppress(OSError):  # it had ended before
            self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._control.close()
        self._process.wait()
        self._place.cleanup()

    def start_rank(self, limits: Limits, walls: str = "") -> Sandboxed:
        """A new rank in its sandbox, which has not received anything yet."""
        link, other = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with other:
            request = {
                "do": "start_rank",
                "apart": (walls or self.walls[0]) == BOTH_WALLS,
                "place": self._place.name,
                "seconds": round(limits.seconds) + 1,  # of processors: the clock ends it first
                "memory": limits.memory,
                "scratch": limits.scratch,
            }
            reply = self.ask(request, other)
        if "failed" in reply:
            raise OSError(reply["failed"])
        child = Sandboxed(self, reply["born"], link)
        soon = time.monotonic() + 60  # its own code runs until it says this
        try:
            kind, child.walls = child.hear(soon)
        except Ended as ended:
            raise OSError(f"a rank {ended} before it was confined") from None
        if kind != "confined":
            child.end()
            raise OSError(child.walls)
        child.tell("begin", soon)
        return child

    def ask(self, request: dict[str, Any], link: socket.socket | None = None) -> dict[str, Any]:
        files = [] if link is None else [link.fileno()]
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], files)
            answer = self._control.recv(2**16)
        except ConnectionError:
            answer = b""
        if not answer:
            raise Mistake(ENDED)
        return json.loads(answer)

    def _find_walls(self, choices: list[str]) -> list[str]:
        """Try which walls this machine offers, before anything of a submission is read."""
        problems = []
        for choice in choices:
            try:
                child = self.start_rank(Limits(), choice)
            except OSError as error:
                problems.append(f"{choice}: {error}")
                continue
            child.end()
            if BOTH_WALLS in child.walls or {SECOND_WALL, "seccomp"} <= {*child.walls}:
                return child.walls
            problems.append(f"{choice}: not enough without seccomp")
        raise Mistake(NO_WALLS.format(why=f"({'; '.join(problems)})"))
