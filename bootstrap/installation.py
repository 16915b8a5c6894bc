"""Fill a virtual environment with pip, show how far it is, and translate what goes wrong."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bootstrap.isolation import clean_environment
from bootstrap.progress import Progress


class Problem(Exception):
    """Something the user can mend; the text says what and how."""


NO_PIP = """This Python can make no complete virtual environment: its 'ensurepip' is missing.
    Debian, Ubuntu:   sudo apt install python3-venv
    elsewhere:        install pip for this Python, or take a Python from python.org or conda
Then type the same command again."""

NO_CONNECTION = """pip cannot reach the package index.
    Is this machine online? Behind a proxy, set HTTPS_PROXY; for an index of your own, set
    PIP_INDEX_URL.
Then type the same command again: what has been fetched is kept."""

NO_SPACE = """The disk is full. The packages need about 2 GB, and several more where PyTorch
comes with CUDA. Make room, then type the same command again."""

NO_BUILD = """The package index has no build of a package for this Python or this machine, or
is another than you think (see PIP_INDEX_URL, PIP_NO_INDEX and "pip config list").
    The course is tested on Linux with Python 3.11 and expected to run on later ones and on macOS.
    With another Python installed, type its name in front: 'python3.12 start.py', say."""

# What pip writes when..., most telling first.
DIAGNOSES = [
    ("No module named venv", NO_PIP),
    ("No space left on device|Disk quota exceeded", NO_SPACE),
    ("Max retries exceeded|connection broken|Read timed out|SSLError|ProxyError", NO_CONNECTION),
    ("No matching distribution found|Failed (to build|building)|exited with error", NO_BUILD),
]


class Installation:
    """One virtual environment, and the log of what was done to it."""

    def __init__(self, venv: Path, log: Path, held_open: int) -> None:
        """Start a log; ``held_open`` is a file descriptor that every child keeps open.

        Were start.py killed, its file lock would so be held until the orphaned pip has ended too.
        """
        self._venv = venv
        self._python = str(venv / "bin" / "python")
        self._log = log
        self._held_open = held_open
        log.write_text("")

    def create(self) -> None:
        """Make the empty environment, with pip or, where ensurepip is missing, without."""
        progress = Progress("Making .venv")
        # From inside another environment, the Python that this one was made from.
        base = getattr(sys, "_base_executable", sys.executable)
        make = [base, "-m", "venv", str(self._venv)]
        failed = self._run(make, progress.show) and self._run(
            [*make, "--without-pip"], progress.show
        )
        self._end(progress, failed)

    def install_locked(self, lock: Path) -> None:
        """Install every package of the lock file; pip adds what this machine needs besides."""
        total = sum("==" in line for line in lock.read_text().splitlines())
        progress = Progress("Installing packages")
        failed = self._pip(
            ["install", "--progress-bar=off", "--requirement", str(lock)],
            lambda: progress.show(self._how_far(total)),
        )
        self._end(progress, failed, f"{self._installed()} of them")

    def install_project(self, root: Path) -> None:
        """Make ``import ddl_teach`` find this very folder, so that an edit is seen at once."""
        progress = Progress("Installing the course")
        editable = ["install", "--no-deps", "--no-build-isolation", "--editable", str(root)]
        self._end(progress, self._pip(editable, progress.show))

    def _end(self, progress: Progress, failed: int, outcome: str = "done") -> None:
        progress.end("failed" if failed else outcome)
        if failed:
            raise Problem(self._explanation())

    def _pip(self, words: list[str], watch: Callable[[], None]) -> int:
        options = ["--disable-pip-version-check", "--no-input"]
        return self._run([*self._pip_command(), *options, *words], watch)

    def _pip_command(self) -> list[str]:
        """Return the environment's own pip, or another pip of this machine that can serve it."""
        candidates = [
            [self._python, "-m", "pip"],
            [sys.executable, "-m", "pip", "--python", self._python],
            ["pip3", "--python", self._python],
        ]
        for candidate in candidates:
            if self._run([*candidate, "--version"], watch=lambda: None) == 0:
                return candidate
        raise Problem(NO_PIP)

    def _run(self, command: list[str], watch: Callable[[], None]) -> int:
        with self._log.open("a") as log:
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=clean_environment(self._venv) | {"PYTHONUNBUFFERED": "1"},
                    pass_fds=[self._held_open],
                )
            except OSError as error:
                log.write(f"{command[0]}: {error}\n")
                return 1
        try:
            while process.poll() is None:
                watch()
                time.sleep(0.1)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        return process.returncode

    def _how_far(self, total: int) -> str:
        """Read pip's own words: first it collects everything, then it installs everything."""
        log = self._log.read_text(errors="replace")
        if "Installing collected packages" in log:
            return f"{self._installed()} of {total} installed"
        lines = re.findall(r"^ *(?:Collecting|Processing|Downloading) (.+)$", log, re.MULTILINE)
        requested = set(re.findall(r"^(?:Collecting|Processing) (\S+)", log, re.MULTILINE))
        latest = re.sub(r" \(from .*|\S*/", "", lines[-1]) if lines else "asking for the list"
        trouble = " (no answer, trying again)" if "Retrying (" in log[-2000:] else ""
        return f"{len(requested)} of {total} found, {latest}{trouble}"

    def _installed(self) -> int:
        return len(list(self._venv.glob("lib/python*/site-packages/*.dist-info")))

    def _explanation(self) -> str:
        """Show pip's errors in full, then say in plain words what they mean."""
        log = self._log.read_text(errors="replace")
        lines = log.splitlines()
        errors = [n for n, line in enumerate(lines) if re.match(r" *(ERROR|error)\b", line)]
        shown = lines[errors[0] :] if errors else lines[-20:]
        meaning = next((text for sign, text in DIAGNOSES if re.search(sign, log)), "")
        return "\n".join(["", *shown, "", meaning, f"Everything pip said: {self._log}"])
