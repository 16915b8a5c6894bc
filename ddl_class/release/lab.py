"""Open the course in JupyterLab."""

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from ddl_class.commands.mistake import Mistake

ROOT = Path(__file__).resolve().parents[2]
FIRST_NOTEBOOK = "notebooks/00_tour.ipynb"

# Defaults that a learner's own settings overrule: no question about news, and none of the buttons
# with which instructors use nbgrader and ipyparallel by hand.
SETTINGS = Path(__file__).resolve().parent / "lab_settings"


def open_lab(options: argparse.Namespace) -> NoReturn:
    """Become JupyterLab, with further options: signals and the exit status are its own."""
    if not (ROOT / FIRST_NOTEBOOK).is_file():
        raise Mistake(
            f"There is no {FIRST_NOTEBOOK} in {ROOT}: this works in a clone of the course, not "
            "where only the package was installed."
        )
    command = [
        *(sys.executable, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.default_url=/lab/tree/{FIRST_NOTEBOOK}",
        "--LabApp.extension_manager=readonly",  # a course has no need to ask the network
        "--KernelManager.transport_encryption=auto",  # or every kernel complains in the terminal
        "--Application.log_level=ERROR",
        *options.others,
    ]
    if os.geteuid() == 0:
        command.append("--allow-root")
    # On Linux without a display a browser would be a text one, in the way.
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform == "linux" and not any(name in os.environ for name in displays):
        print("No screen here: open the address below in a browser, here or through ssh.")
        command.append("--no-browser")
    print("JupyterLab is starting. Ctrl-C, twice, ends it.", flush=True)
    folders = [str(SETTINGS), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    changed = {"JUPYTER_CONFIG_PATH": os.pathsep.join(folders)}
    os.execve(sys.executable, command, os.environ | changed)
