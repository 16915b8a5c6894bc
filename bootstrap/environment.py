"""Make .venv what requirements.lock says, once, whatever happened before.

A stamp is written into .venv as the last step and removed before anything in it changes. So a
.venv with a stamp is whole, and one without (an interrupted first time) is made anew: a package
that pip had half written looks complete to pip, and pip's own cache makes the second time quick.
A file lock lets a second start.py wait for the first.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bootstrap.installation import Installation, Problem
from bootstrap.progress import Progress

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "start.json"
LOCK = ROOT / "requirements.lock"


def prepare() -> Path:
    """Return the Python of a .venv that is whole and up to date, making it so if need be."""
    if _stamp() == _wanted():
        return PYTHON
    try:
        with _only_one() as lock_file:
            if _stamp() != _wanted():  # another start.py may have done it while this one waited
                _make(lock_file)
    except PermissionError as error:
        raise Problem(
            f"{error.filename} cannot be written by this user.\n"
            "Clone or copy the course into a folder of your own and start it there."
        ) from error
    return PYTHON


def _wanted() -> dict[str, str]:
    inputs = LOCK.read_bytes() + (ROOT / "pyproject.toml").read_bytes()
    # The place counts because scripts in .venv carry their absolute path.
    return {"inputs": hashlib.sha256(inputs).hexdigest(), "place": str(ROOT)}


def _stamp() -> dict[str, str] | None:
    """Return what a whole .venv was made from; None when it is not whole or no longer runs."""
    try:
        stamp = json.loads(STAMP.read_text())
        version = stamp.pop("python")
    except (OSError, ValueError, KeyError):
        return None
    # A system upgrade can swap the Python behind .venv for one that does not see its packages.
    return stamp if version == _python_of_venv() else None


def _python_of_venv() -> str:
    question = [str(PYTHON), "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        return subprocess.run(question, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


@contextlib.contextmanager
def _only_one() -> Iterator[int]:
    """Hold the file lock; the system frees it when the last process that has it open ends."""
    with open(ROOT / ".venv.lock", "w") as lock_file:
        waiting = None
        while not _locked(lock_file.fileno()):
            waiting = waiting or Progress("Another start.py is preparing .venv, waiting for it")
            waiting.show()
            time.sleep(0.2)
        if waiting:
            waiting.end("it has ended")
        yield lock_file.fileno()


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # some network file systems have no locks: go on without
    return True


def _make(lock_file: int) -> None:
    stamp = _stamp()
    fresh = stamp is None or stamp["place"] != str(ROOT)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        STAMP.unlink()
    if fresh:
        print(
            f"Preparing Python packages in {VENV} (a few minutes, this once).\n"
            "It may be interrupted: the same command starts again.",
            flush=True,
        )
        _remove(VENV)
    else:
        print("The list of packages has changed since last time: bringing .venv up to date.")
    installation = Installation(VENV, log=ROOT / ".venv.log", held_open=lock_file)
    if fresh:
        installation.create()
    installation.install_locked(LOCK)
    installation.install_project(ROOT)
    _no_news_popup()
    _write_stamp()


def _remove(venv: Path) -> None:
    if venv.is_symlink() or venv.is_file():
        venv.unlink()
    elif venv.exists():
        shutil.rmtree(venv)


def _no_news_popup() -> None:
    """Spare the newcomer JupyterLab's question about news: a click less before the first cell."""
    settings = VENV / "etc" / "jupyter" / "labconfig" / "page_config.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    popup = "@jupyterlab/apputils-extension:announcements"
    settings.write_text(json.dumps({"disabledExtensions": {popup: True}}))


def _write_stamp() -> None:
    unfinished = STAMP.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(_wanted() | {"python": _python_of_venv()}))
    os.replace(unfinished, STAMP)
