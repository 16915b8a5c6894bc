"""Pyodide, and a Node that can lay stacks aside: installed once, beside the course's packages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE / "built" / "npm"


class NoTools(RuntimeError):
    """What is missing, and how to get it."""


def npm_packages() -> Path:
    """The folder with Pyodide and Node in it."""
    wanted, done = (HERE / "package.json").read_text(), BUILT / "installed.json"
    if not done.is_file() or done.read_text() != wanted:
        if (npm := shutil.which("npm")) is None:
            raise NoTools("npm is not here: install Node.js (Debian: npm)")
        BUILT.mkdir(parents=True, exist_ok=True)
        (BUILT / "package.json").write_text(wanted)
        for words in ("install --no-audit --no-fund", "rebuild node"):
            ran = subprocess.run([npm, *words.split()], capture_output=True, text=True, cwd=BUILT)
            if ran.returncode:
                raise NoTools(f"npm {words} failed:\n{ran.stdout}{ran.stderr}")
        done.write_text(wanted)
    return BUILT / "node_modules"


def node() -> Path:
    """A Node that can lay stacks aside."""
    return npm_packages() / "node" / "bin" / "node"
