"""Open the course in JupyterLab."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ddl_teach.course.mistake import Mistake

ROOT = Path(__file__).resolve().parents[2]
FIRST_NOTEBOOK = ROOT / "notebooks" / "00_tour.ipynb"


def open_lab(options: list[str]) -> int:
    """Run JupyterLab with further ``options`` until it ends; return its exit status."""
    if not FIRST_NOTEBOOK.is_file():
        raise Mistake(
            f"There are no notebooks in {FIRST_NOTEBOOK.parent}: this works in a clone of the "
            "course, not where only the package was installed."
        )
    command = [sys.executable, "-m", "jupyterlab", str(FIRST_NOTEBOOK)]
    command += [f"--ServerApp.root_dir={ROOT}", *options]
    if os.geteuid() == 0:
        command.append("--allow-root")
    if not _has_screen():
        print(
            "No screen here: open the address below in a browser, on this machine or through ssh."
        )
        command.append("--no-browser")
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # Ctrl-C reaches JupyterLab too, which asks whether to stop


def _has_screen() -> bool:
    """Whether a browser can open; on Linux without a display it would be a text one in the way."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform != "linux" or any(name in os.environ for name in displays)
