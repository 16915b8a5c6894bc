"""The nodes of a box: run a program there, write a file there.

A process may exchange its view of network, mounts, names and process numbers for that of another
(`nsenter`). The way leads over the head, where a script enters the node, in the place of ssh.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddl_class.clusters.box import head, plan
from ddl_class.commands.mistake import Mistake

# What of the environment means something else in the box.
FOREIGN = ("XDG_RUNTIME_DIR", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY")


@dataclass
class Nodes:
    """The nodes and their head, up or not."""

    folder: Path  # seen at the same path by all nodes
    nodes: tuple[str, ...]
    root: bool
    head: int  # process 1 of the head, as seen from outside
    began: float
    inside: str  # the name of the head's process numbers: who sees it is on the head

    @property
    def alive(self) -> bool:
        import psutil

        if self.on_head:
            return True
        try:
            process = psutil.Process(self.head)
            return process.create_time() == self.began and process.status() != "zombie"
        except psutil.NoSuchProcess:
            return False

    @property
    def on_head(self) -> bool:
        return os.readlink("/proc/self/ns/pid") == self.inside

    def address(self, node: str) -> str:
        return plan.address(self.nodes.index(self.known(node)))

    def words(self, host: str, command: Sequence[str]) -> list[str]:
        """What to start for `command` to run on a node, or on "head"."""
        if host != "head":
            self.known(host)
        user = [] if self.root else ["-U", "--preserve-credentials"]
        enter = ["nsenter", "-t", str(self.head), *user, "-n", "-m", "-u", "-i", "-p", "--"]
        agent = str(self.folder / "agent")
        settings = plan.environment(agent, self.folder)
        return [
            "env",
            *(f"--unset={name}" for name in FOREIGN),
            *(f"{name}={value}" for name, value in settings.items()),
            f"PATH={self.folder}/bin:{plan.PYTHON}/bin:{plan.search_path()}",
            *([] if self.on_head else enter),
            # The folder is entered inside: outside the same name means another one.
            *("/bin/sh", "-c", 'cd "$0" 2>/dev/null || cd /; exec "$@"', os.getcwd()),
            # Word by word, so that others can be put behind them; an agent takes one line, as ssh.
            *(command if host == "head" else (agent, host, f"exec {shlex.join(command)}")),
        ]

    def run(
        self, host: str, command: Sequence[str], **options: Any
    ) -> subprocess.CompletedProcess:
        """Run a command on a node and wait for its end; options as of `subprocess.run`."""
        return subprocess.run(self.words(host, command), **options)

    def processes(self, node: str) -> list[Any]:
        """What runs on a node, besides the shell that is the node: as psutil's processes."""
        import psutil

        if (number := self.numbers().get(self.known(node))) is None:
            return []
        here = self.ask("head", ["readlink", f"/proc/{number}/ns/pid_for_children"]).strip()
        processes = []
        for process in psutil.process_iter():
            try:
                same = os.readlink(f"/proc/{process.pid}/ns/pid") == here
                command = process.cmdline() if same else []
            except (OSError, psutil.Error):
                continue  # it has ended meanwhile, or is somebody else's
            if command and command[:2] not in (["sh", head.FURNISH], ["sleep", "100000"]):
                processes.append(process)
        return processes

    def power_off(self, node: str) -> None:
        """End every process of a node, and its memory with them."""
        if number := self.numbers().get(self.known(node)):
            gone = f"kill -9 {number}; while kill -0 {number} 2>/dev/null; do sleep 0.01; done"
            self.ask("head", ["sh", "-c", gone])

    def power_on(self, node: str) -> None:
        """The node again, with nothing of what was on it; its cable does not carry yet."""
        words = [sys.executable, "-I", "-S", head.__file__, str(self.folder / "plan.json")]
        self.ask("head", [*words, self.known(node)])

    def numbers(self) -> dict[str, int]:
        """The nodes that are on, with the process number that each has on the head."""
        look = (
            'cd "$0"; for node; do read -r n < "$node"; [ ! -e /proc/$n ] || echo $node $n; done'
        )
        answer = self.ask("head", ["sh", "-c", look, str(self.folder / "nodes"), *self.nodes])
        return {node: int(number) for node, number in map(str.split, answer.splitlines())}

    def ask(self, host: str, command: Sequence[str], input_text: str | None = None) -> str:
        """What a command on a node prints; a Mistake if it fails."""
        done = self.run(host, command, input=input_text, text=True, capture_output=True)
        if done.returncode:
            raise Mistake(f"{shlex.join(command)} on {host}: {done.stderr.strip()}")
        return done.stdout

    def known(self, node: str) -> str:
        """The name, if there is such a node."""
        if node not in self.nodes:
            raise Mistake(f"there is no node {node!r}; there are {', '.join(self.nodes)}")
        return node
