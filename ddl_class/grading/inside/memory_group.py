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
FIRST_TO_GO = "1000"  # of all processes in a group that is full


class MemoryGroup:
    """A new one, for this process and what it starts; without a folder where there can be none."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._ended = 0
        for line in OWN.read_text().splitlines() if OWN.exists() else ():
            _, controllers, own = line.split(":", 2)
            if controllers in VERSIONS:
                place, self._limit, self._swap, self._events = VERSIONS[controllers]
                self._before = TOP / place / own.lstrip("/")
                # Below a group with processes version 2 gives no limits; beside it perhaps.
                for parent in (self._before, self._before.parent):
                    with suppress(OSError):
                        return self._enter(parent / f"ddl-teach-{os.getpid()}")

    def _enter(self, folder: Path) -> None:
        folder.mkdir()
        try:
            (folder / self._limit).write_text(str(2**60))  # no limit yet
            with suppress(OSError):  # where the kernel cannot swap
                (folder / self._swap).write_text("0")
            (folder / "cgroup.procs").write_text("0")
        except OSError:
            folder.rmdir()
            raise
        self.folder = folder

    def allow(self, memory: int) -> None:
        """From now on all processes together may have `memory` bytes."""
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
