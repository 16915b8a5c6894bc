"""A control group of the kernel, which counts all memory of its processes and limits it.

It counts what no process has in its own tables: shared pages that were given back, files in
memory. At the limit the kernel ends one of the processes. Root can make such a group on most
machines; others where systemd lets them, as in `systemd-run --user --scope ddl-teach grade ...`.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TOP, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# Of both versions: the controller in /proc/self/cgroup, its place, files for the limit, for swap,
# and for how many processes the kernel has ended.
VERSIONS = (
    ("", "", "memory.max", "memory.swap.max", "memory.events"),
    ("memory", "memory", "memory.limit_in_bytes", "memory.swappiness", "memory.oom_control"),
)
NO_LIMIT = 2**60
FIRST_TO_GO = "1000"  # of all processes in a group that is full


@dataclass
class MemoryGroup:
    """A group in which this process is, and all that it starts from now on."""

    folder: Path
    before: Path  # the group that this process came from
    limit: str
    swap: str
    events: str
    ended: int = 0  # processes, when they were counted last

    @classmethod
    def entered(cls) -> "MemoryGroup | None":
        """A new group; None where this user may make none."""
        with suppress(OSError):
            for line in OWN.read_text().splitlines():
                _, controllers, own = line.split(":", 2)
                for controller, place, *files in VERSIONS:
                    if controller in controllers.split(","):
                        before = TOP / place / own.lstrip("/")
                        # Below a group with processes version 2 has no limits, beside it perhaps.
                        for beside in (before, before.parent):
                            group = cls(beside / f"ddl-teach-{os.getpid()}", before, *files)
                            if group._enter():
                                return group
        return None

    def _enter(self) -> bool:
        with suppress(OSError):
            self.folder.mkdir()
            try:
                self.allow(NO_LIMIT)
                with suppress(OSError):  # where the kernel cannot swap
                    (self.folder / self.swap).write_text("0")
                (self.folder / "cgroup.procs").write_text("0")
                return True
            except OSError:
                self.folder.rmdir()
        return False

    def allow(self, memory: int) -> None:
        """All processes together may have so many bytes from now on."""
        (self.folder / self.limit).write_text(str(memory))

    def overrun(self) -> bool:
        """Whether the kernel has ended a process since this was asked last."""
        before = self.ended
        text = (self.folder / self.events).read_text()
        self.ended = int(re.findall(r"^oom_kill (\d+)", text, re.MULTILINE)[0])
        return self.ended > before

    def leave(self) -> None:
        """Go back, and take the group away."""
        with suppress(OSError):
            (self.before / "cgroup.procs").write_text("0")
            self.folder.rmdir()
