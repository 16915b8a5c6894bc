"""Compiles `patterns.cpp` and runs it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.simgrid import platform
from ddl_runtime.topologies.shared_links import Topology
from ddl_teach.comm import Uniform

SOURCE = Path(__file__).with_name("patterns.cpp")
HOW_TO_GET_IT = """\
This benchmark compares with SimGrid, which is not here: {reason}
It is a system package, so neither of the course's two commands installs it, and nothing else needs
it. On Debian and Ubuntu:

    sudo apt-get install g++ libsimgrid-dev

Without root, `apt-get download` it and what it depends on, `dpkg -x` each package into one folder,
and point CPATH, LIBRARY_PATH and LD_LIBRARY_PATH into it.

Elsewhere see simgrid.org. Then run the benchmark again."""


class NotInstalled(Exception):
    """No compiler or no SimGrid; the message says how to get them."""


@dataclass(frozen=True)
class Outcome:
    """What SimGrid found: virtual seconds, messages, and seconds of processor time."""

    time: float
    messages: int
    seconds: float


class SimGrid:
    """The compiled patterns, in a folder that goes when the `with` ends."""

    def __enter__(self) -> SimGrid:
        compiler = shutil.which("g++")
        if compiler is None:
            raise NotInstalled(HOW_TO_GET_IT.format(reason="there is no g++."))
        self._folder = tempfile.TemporaryDirectory()
        self._program = Path(self._folder.name) / "patterns"
        command = [compiler, "-O2", "-std=c++17", str(SOURCE), "-lsimgrid", "-o", self._program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self._folder.cleanup()
            last = (done.stderr.strip().splitlines() or ["no message"])[0]
            raise NotInstalled(HOW_TO_GET_IT.format(reason=f"g++ says\n{last}"))
        about = subprocess.run([self._program, "--version"], capture_output=True, text=True)
        found = re.search(r"\d+\.\d+(\.\d+)?", about.stdout + about.stderr)
        self.version = found.group() if found else "of unknown version"
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(
        self,
        network: Uniform | Topology,
        pattern: str,
        ranks: int,
        nbytes: int,
        protocol: Literal["rendezvous", "ports"] = "rendezvous",
    ) -> Outcome:
        """Simulate one pattern; see patterns.cpp for the two protocols."""
        description = Path(self._folder.name) / "platform.xml"
        description.write_text(platform.describe(network, ranks))
        options = [*platform.MODEL, *platform.SPEED]
        if protocol == "ports":
            options.append("--cfg=network/latency-factor:0")
        done = subprocess.run(
            [self._program, description, pattern, str(ranks), str(nbytes), protocol, *options],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not done.stdout:
            raise RuntimeError(f"SimGrid failed on {pattern}, {ranks} ranks:\n{done.stderr}")
        time, messages, seconds = done.stdout.split()
        return Outcome(float(time), int(messages), float(seconds))
