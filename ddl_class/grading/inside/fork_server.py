"""The fork server: the process that starts each rank of a submission in a sandbox of its own.

It has imported NumPy, so that a rank starts in milliseconds, and holds no secrets. A child enters
its sandbox before it receives anything of a submission. The server ends all ranks when they use
too much memory together, when the grader asks for it, or when the grader is gone. It counts the
memory of each process; where there can be one, a group of the kernel counts as well.
"""

import contextlib
import gc
import json
import os
import pkgutil
import re
import resource
import select
import signal
import socket
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import metadata
from importlib.machinery import FileFinder
from pathlib import Path
from typing import Any

from ddl_class.grading.inside import kernel, landlock, namespaces, project, rank, system_calls
from ddl_class.grading.inside.memory_group import FIRST_TO_GO, MemoryGroup
from ddl_class.grading.inside.wire import FrameSocket, receive_frame, send_frame
from ddl_runtime.core.running import end_process

TICK = 0.1  # seconds between two looks at the memory
MOST_THREADS = 256
COPIED = 16 * 2**20  # bytes: more than a rank copies of what it inherits (9 MB with torch)
COUNTED = re.compile(r"^Rss(?:Anon|Shmem):\s*(\d+) kB$", re.MULTILINE)
PAGE = os.sysconf("SC_PAGE_SIZE")
ENDING = 4  # PF_EXITING, among the flags of a process
CHILDREN_COME_HERE = 36  # the option of prctl by which orphans become our children


@dataclass
class ForkServer:
    """Answers the grader's requests, which are lines of JSON on `control`."""

    control: socket.socket
    files: dict[str, list[str]]  # what each rank sees: `files_seen` of the grader's side
    alive: dict[int, int] = field(default_factory=dict)  # process: bytes allowed to all together
    reasons: dict[int, str] = field(default_factory=dict)  # why we ended a process ourselves
    place: str = ""  # the empty folder where ranks build their files
    inherited: int = 0  # bytes that every rank has when it starts, in the same memory
    group: MemoryGroup = field(default_factory=MemoryGroup)

    def serve(self) -> None:
        """Answer requests until the grader closes the connection."""
        kernel.control(CHILDREN_COME_HERE, 1)
        # What each rank would do again, and some while files can be read.
        project.forget_hidden()
        if system_calls.can_refuse():
            system_calls.program(kernel.processor(), 1)
        _learn_names(self.files["parts"])  # a child then only looks whether they have changed
        gc.freeze()  # a child's collector need not touch, and so copy, what it inherits
        self.inherited = _memory(os.getpid())
        try:
            while True:
                ready, _, _ = select.select([self.control], [], [], TICK if self.alive else None)
                if not ready:
                    self._watch_memory()
                    continue
                text, files, _, _ = socket.recv_fds(self.control, 2**16, 1)
                if not text:
                    return
                request = json.loads(text)
                answer = getattr(self, f"_{request.pop('do')}")(*files, **request)
                self.control.sendall(json.dumps(answer).encode())
        except ConnectionError:
            return  # the grader has ended without waiting for the answer
        finally:
            for process in list(self.alive):
                self._reap(process)
            self.group.leave()
            with contextlib.suppress(OSError):  # the grader does it as well, if it still can
                os.rmdir(self.place)

    def _start_rank(self, link: int, apart: bool, **limits: Any) -> dict[str, Any]:
        owner = os.geteuid(), os.getegid()
        self.place = limits["place"]
        try:
            new = namespaces.EVERYTHING | (kernel.NEW_USER if owner[0] else 0)
            child = kernel.fork(new) if apart else os.fork()
        except OSError as error:
            os.close(link)
            return {"failed": f"{type(error).__name__}: {error}"}
        if child == 0:
            _begin(link, files=self.files, owner=owner, apart=apart, **limits)
        os.close(link)
        self.alive[child] = limits["memory"]
        self.group.allow(min(self.alive.values()) + COPIED * len(self.alive))
        return {"born": child}

    def _reap(self, process: int) -> dict[str, Any]:
        """End a rank and all processes that it started; returns how the rank itself ended."""
        alone = _is_ending(process)  # its socket closes a little before it ends
        os.kill(process, signal.SIGKILL)  # changes nothing then, unless threads of it go on
        _, status = os.waitpid(process, 0)
        del self.alive[process]
        if self.group.overrun():  # asked when it is gone, so that no later rank answers for it
            self.reasons[process] = "memory"
            self._end_for_memory()
        return {
            "alone": alone,
            "status": os.waitstatus_to_exitcode(status),
            "reason": self.reasons.pop(process, ""),
        }

    def _watch_memory(self) -> None:
        """End all ranks if together they use more memory than is allowed."""
        used = sum(max(0, _memory(process) - self.inherited) for process in self.alive)
        if used > min(self.alive.values()) or self.group.overrun():
            self._end_for_memory()

    def _end_for_memory(self) -> None:
        for process in self.alive:
            self.reasons[process] = "memory"
            os.kill(process, signal.SIGKILL)


def _memory(process: int) -> int:
    """A process's private and shared bytes, without the files of programs and libraries."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return 1024 * sum(map(int, COUNTED.findall(status)))


def _is_ending(process: int) -> bool:
    """Whether the kernel is taking the process down already."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    _, _, after_the_name = status.rpartition(")")
    return bool(int(after_the_name.split()[6]) & ENDING)


def _begin(link: int, **circumstances: Any) -> None:
    """In the rank's process: build the walls, run the rank, exit."""
    status = 1
    try:
        os.setsid()
        end = FrameSocket(socket.socket(fileno=os.dup2(link, 3)))
        os.closerange(4, 2**16)
        with open("/dev/null", "r+b", buffering=0) as nothing:
            for standard in range(3):
                os.dup2(nothing.fileno(), standard)
        try:
            walls = _confine(**circumstances)
        except OSError as error:
            send_frame(end, ("unconfined", str(error)))
            return
        send_frame(end, ("confined", walls))
        receive_frame(end)
        kernel.control(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        rank.live(end)
        status = 0
    finally:
        end_process(status)


def _confine(
    files: dict[str, list[str]], owner: tuple[int, int], apart: bool, place: str, seconds: int,
    memory: int, scratch: int,
) -> list[str]:  # fmt: skip
    """Build the walls, from the outermost in; returns which."""
    walls = []
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)
    own = int(Path("/proc/self/statm").read_text().split()[0]) * PAGE
    if apart:
        if owner[0] != 0:
            namespaces.map_user(*owner)
        namespaces.furnish(files["shown"], files["masked"], place, scratch)
        walls.append("namespaces")
    if apart or os.geteuid() == 0:
        namespaces.become_nobody()
    _limit(own + memory, seconds, scratch, apart)
    if landlock.version():
        if apart:
            landlock.allow_only(["/"], ["/tmp", "/dev"])
        else:
            _learn_names(files["parts"])
            devices = [f"/dev/{name}" for name in namespaces.DEVICES]
            landlock.allow_only(files["readable"], devices)
        walls.append("landlock")
    if system_calls.can_refuse():
        system_calls.refuse()
        walls.append("seccomp")
    return walls


def _learn_names(folders: Iterable[str]) -> None:
    """Let Python list these folders now: Landlock forbids it later."""
    for folder in {*folders, *sys.path_importer_cache}:
        finder = pkgutil.get_importer(folder)
        if isinstance(finder, FileFinder):
            finder.find_spec("no_module")
    list(metadata.distributions(name="no_distribution"))


def _limit(memory: int, seconds: int, scratch: int, apart: bool) -> None:
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: scratch,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if apart:  # otherwise it would count all processes of this user
        limits[resource.RLIMIT_NPROC] = MOST_THREADS
    for limit, most in limits.items():
        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
