"""A small process that ends the ranks when their launcher is gone without a word.

Ranks see by themselves that nobody listens any more and leave, unless they are stopped or deep in
compiled code. The guard needs no help from them: it reads from a pipe that only the launcher
holds, and the pipe's end is the launcher's end, whatever killed it.
"""

import contextlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

# The last line says whom to end, mpiexec first. That one is given time to clear up behind itself.
SCRIPT = """
folder=$1
trap 'rm -rf "$folder"' EXIT
while read -r line; do said=$line; done
[ -z "$said" ] || [ "$said" = ended ] && exit
set -- $said
mpiexec=$1
shift
if [ $# -eq 0 ]; then # the ranks have not said who they are: mpiexec's children
    set -- $(ps -A -o pid= -o ppid= | while read -r rank parent; do
        [ "$parent" = "$mpiexec" ] && echo "$rank"
    done)
    kill -s TERM -- "-$mpiexec"
fi
[ $# -eq 0 ] || kill -9 "$@"
for harder in TERM KILL; do
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 "$mpiexec" || exit
        sleep 0.5
    done
    kill -s $harder -- "-$mpiexec"
done
"""


class Reaper:
    """Watches over the processes it is told of, and over their folder, which goes with them."""

    def __init__(self, folder: Path) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT, "ddl-teach guard", str(folder)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch_over(self, pids: Iterable[int]) -> None:
        """These are the processes now, mpiexec first."""
        self._say(" ".join(map(str, pids)))

    def dismiss(self) -> None:
        """All have ended."""
        self._say("ended")
        self._shell.communicate()

    def _say(self, line: str) -> None:
        with contextlib.suppress(OSError):  # somebody has ended the guard
            self._shell.stdin.write(f"{line}\n".encode())
