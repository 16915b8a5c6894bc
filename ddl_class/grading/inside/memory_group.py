"""A control group of the kernel, which counts all memory of its processes and limits it.

It counts what no process has in its own tables: shared pages that were given back, files in
memory. At the limit the kernel ends one of the processes. Root can make such a group on most
machines; others where systemd lets them, as in `systemd-run --user --scope ddl-teach grade ...`.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

TOP, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# Of both versions, by the controller's name in OWN: the place of groups, the files for the limit,
# for swap, and for how many processes the kernel has ended.
VERSIONS = {
    "": ("", "memory.max", "memory.swap.max", "memory.events"),
    "memory": ("memory", "memory.limit_in_bytes", "memory.swappiness", "memory.oom_control"),
}
NO_LIMIT = 2**60
FIRST_TO_GO = "1000"  # of all processes in a group that is full


class MemoryGroup:
    """A new group, in which this process is with all that it starts from now on. It has no folder
    and no effect where this user may make none."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._ended = 0
        for line in OWN.read_text().splitlines() if OWN.exists() else ():
            _, controllers, own = line.split(":", 2)
            if controllers in VERSIONS:
                place, self._limit, self._swap, self._events = VERSIONS[controllers]
                self._before = TOP / place / own.lstrip("/")
                if self._entered(self._before) or self._entered(self._before.parent):
                    return

    def _entered(self, parent: Path) -> bool:
        """Whether there is a group now. Below one with processes version 2 gives no limits; beside
        it perhaps."""
        folder = parent / f"ddl-teach-{os.getpid()}"
        with suppress(OSError):
            folder.mkdir()
            try:
                (folder / self._limit).write_text(str(NO_LIMIT))
                with suppress(OSError):  # where the kernel cannot swap
                    (folder / self._swap).write_text("0")
                (folder / "cgroup.procs").write_text("0")
                self.folder = folder
            except OSError:
                folder.rmdir()
        return self.folder is not None

    def allow(self, memory: int) -> None:
        """All processes together may have so many bytes from now on."""
        if self.folder:
            with suppress(OSError):  # where they have more now
                (self.folder / self._limit).write_text(str(memory))

    def overrun(self) -> bool:
        """Whether the kernel has ended a process since this was asked last."""
        before = self._ended
        if self.folder:
            [count] = re.findall(
                r"^oom_kill (\d+)", (self.folder / self._events).read_text(), re.M
            )
            self._ended = int(count)
        return self._ended > before

    def leave(self) -> None:
        """Go back, and take the group away."""
        if self.folder:
            with suppress(OSError):
                (self._before / "cgroup.procs").write_text("0")
                self.folder.rmdir()
