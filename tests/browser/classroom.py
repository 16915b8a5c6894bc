"""The course as a learner has it: an own copy, JupyterLab open in a browser, a notebook in it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from slides.chromium import CONTROL, SHIFT, Page

ROOT = Path(__file__).resolve().parents[2]
# What keeps a learner's settings, trusted notebooks and record; a newcomer has none of them.
NEWCOMERS = (
    *("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"),
    "DDL_TEACH_DATA",
)
# For the page: the notebook in front, the cell with some piece of text, whether all is done.
NOTEBOOK = "[...jupyterapp.shell.widgets('main')].find(w => w.isVisible && w.sessionContext)"
CELL = (
    f"({NOTEBOOK}).content.widgets.find(({{model}}) => model.type === 'code' && "
    "(model.id === piece || model.sharedModel.source.includes(piece)))"
)
EDITOR = ".cm-content"
IDLE = f"({NOTEBOOK})?.sessionContext.session?.kernel?.status === 'idle'"


@contextlib.contextmanager
def lab(folder: Path) -> Iterator[str]:
    """The address of the lab, on a copy of the course in `folder`; Ctrl-C, twice, ends it."""
    course = folder / "course"
    for part in ("ddl_runtime", "ddl_teach", "ddl_measure", "ddl_class", "notebooks"):
        shutil.copytree(ROOT / part, course / part, ignore=shutil.ignore_patterns("__pycache__"))
    left_out = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "IPP_NONINTERACTIVE")
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    own = {name: str(folder / name) for name in NEWCOMERS} | {"PYTHONPATH": str(course)}
    process = subprocess.Popen(
        # What python3 start.py becomes; and the page may be asked for its state.
        [
            *(sys.executable, "-m", "ddl_teach", "lab"),
            *("--", "--port=0", "--LabApp.expose_app_in_browser=True"),
        ],
        env=inherited | own,
        cwd=course,
        stdin=subprocess.PIPE,  # nobody answers its question whether to end
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    )
    try:
        found = (re.search(r"http://127\S+token=\w+", line) for line in process.stdout)
        address = next(filter(None, found), None)
        assert address, "the lab did not start"
        yield address[0]
    finally:
        for _ in range(2):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(1)
        with contextlib.suppress(subprocess.TimeoutExpired):
            print(process.communicate(timeout=30)[0])  # shown where the test fails
        left = still_running(folder)
        for one in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        assert not left, f"outlived the lab: {left}"


def still_running(folder: Path, seconds: float = 60) -> list[psutil.Process]:
    """Processes of the lab in `folder` that have not ended after so many seconds."""
    end = time.monotonic() + seconds
    while (left := [*filter(lambda one: _belongs(one, folder), psutil.process_iter())]) and (
        time.monotonic() < end
    ):
        time.sleep(0.5)
    return left


def _belongs(process: psutil.Process, folder: Path) -> bool:
    try:
        return process.environ().get("DDL_TEACH_DATA", "").startswith(str(folder))
    except psutil.Error:
        return False  # it has ended, or is somebody else's


def open_file(page: Page, name: str) -> None:
    """Double-click on a file in the list of files."""
    listed = "[...document.querySelectorAll('.jp-DirListing-item')]"
    page.click(f"{listed}.find(item => item.innerText.includes(name))", 2, name=name)


class Notebook:
    """The notebook in front; a cell is known by its id or by a piece of its text."""

    def __init__(self, page: Page, path: str) -> None:
        self.page = page
        path_in_front = f"({NOTEBOOK}).context.path === path"
        page.wait(f"{path} and its kernel", f"{path_in_front} && {IDLE}", 120, path=path)

    def ask(self, piece: str, expression: str, **values: Any) -> Any:
        """The value of a JavaScript expression about `cell`."""
        return self.page.ask(f"(cell => {expression})({CELL})", piece=piece, **values)

    def wait(
        self, what: str, piece: str, expression: str, seconds: float = 60, **values: Any
    ) -> Any:
        """Wait until a JavaScript expression about `cell` is true, and return it."""
        cell = f"(cell => {expression})({CELL})"
        return self.page.wait(what, cell, seconds, piece=piece, **values)

    def click(self, piece: str, selector: str) -> None:
        """Click on an element of a cell or of its output, named as in a style sheet."""
        self.page.click(f"{CELL}.node.querySelector(selector)", piece=piece, selector=selector)

    def press_button(self, command: str) -> None:
        """Press a button of the toolbar above the notebook."""
        button = f"({NOTEBOOK}).toolbar.node.querySelector(selector)"
        self.page.click(button, selector=f"[data-command='{command}']")

    def text(self, piece: str) -> str:
        """What stands in a cell."""
        return self.ask(piece, "cell.model.sharedModel.source")

    def output(self, piece: str) -> str:
        """The text below a cell."""
        return self.ask(piece, "cell.outputArea.node.innerText")

    def alt(self, piece: str, other_than: str = "") -> str:
        """What the picture below a cell shows, in words; a picture may still be on its way."""
        alt = "[...cell.outputArea.node.querySelectorAll('img')].at(-1)?.alt"
        return self.wait(
            "a picture with words", piece, f"({alt} ?? other) !== other && {alt}", other=other_than
        )

    def write(self, piece: str, text: str) -> None:
        """Replace what stands in a cell, from the keyboard."""
        self.click(piece, EDITOR)
        self.page.press("a", CONTROL)
        self.page.type(text)

    def add(self, after: str, text: str) -> None:
        """A new cell below another, by the button of the toolbar."""
        self.click(after, ".jp-InputPrompt")
        self.press_button("notebook:insert-cell-below")
        active = f"({NOTEBOOK}).content.activeCell"
        self.page.wait("the new cell", f"{active}.model.sharedModel.source === ''")
        self.page.click(f"{active}.node.querySelector({EDITOR!r})")
        self.page.type(text)

    def run(self, piece: str, seconds: float = 60) -> str:
        """Shift-Enter in a cell; the text below it when it is done."""
        self.click(piece, EDITOR)
        # After a restart the count may come out the same: only a new one shall end the wait.
        self.ask(piece, "cell.model.executionCount = null")
        self.page.press("Enter", SHIFT)
        done = f"cell.model.executionCount && {IDLE}"
        self.wait(f"the end of the cell with {piece!r}", piece, done, seconds)
        return self.output(piece)

    def move_slider(self, piece: str, name: str) -> None:
        """Move a slider one step to the right, with the arrow key."""
        self.click(piece, f"[role=slider][aria-label={name}]")
        self.page.press("ArrowRight")

    def restart(self) -> None:
        """Restart the kernel by the button of the toolbar, and say yes."""
        self.press_button("notebook:restart-kernel")
        self.page.click("document.querySelector('.jp-Dialog .jp-mod-accept')")
        self.page.wait("the fresh kernel", f"!document.querySelector('.jp-Dialog') && {IDLE}")

    def show(self, piece: str, at: str = "start") -> None:
        """Scroll until a cell begins the window, or with `at="end"` ends it."""
        self.ask(piece, "cell.node.scrollIntoView({block: at})", at=at)
        time.sleep(1)  # JupyterLab draws what has come into view
