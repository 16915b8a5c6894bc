"""JupyterLite's own packages, installed once beside the course's environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE / "built"
REQUIREMENTS = HERE / "requirements.txt"


def fresh(folder: Path) -> Path:
    """The folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


class BuildError(RuntimeError):
    """What is missing or went wrong, and what to do."""


def run(words: list[str], **options: object) -> str:
    """What a command prints; a BuildError with it where the command fails."""
    ran = subprocess.run(words, capture_output=True, text=True, **options)
    if ran.returncode:
        raise BuildError(f"{' '.join(words)} failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def pip(*words: str) -> None:
    """Run pip of this Python."""
    run([sys.executable, "-m", "pip", "--disable-pip-version-check", *words])


def jupyterlite() -> Path:
    """The folder with JupyterLite in it."""
    folder = BUILT / "jupyterlite"
    done, wanted = folder / "installed.txt", REQUIREMENTS.read_text()
    if not done.is_file() or done.read_text() != wanted:
        fresh(folder)  # pip replaces nothing in such a folder
        pip("install", "--no-deps", "--target", str(folder), "-r", str(REQUIREMENTS))
        done.write_text(wanted)
    return folder
