"""Builds the wheel, and makes environments into which it is installed."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.house import PACKAGES

ROOT = Path(__file__).resolve().parents[1]


def run(*words, **settings):
    """What a command prints; it must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copy_project(folder):
    """Copy what the wheel is built from, so that no older build beside it gets into it."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)


def build(folder):
    """The wheel of the project in this folder."""
    words = "pip wheel --no-deps --no-build-isolation --no-index --quiet --wheel-dir built ."
    run(sys.executable, "-m", *words.split(), cwd=folder)
    (built,) = (folder / "built").iterdir()
    return built


def fresh_environment(folder):
    """An environment without pip, which sees NumPy and the like of this one: Python and site."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    others = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(python, "-I", "-c", where).strip())
    (site / "others.pth").write_text("\n".join(others))
    return python, site


def install(wheel, python):
    """Install a wheel, and nothing that it needs, with the pip of this environment."""
    words = ["install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    run(sys.executable, "-m", "pip", "--python", str(python), *words)


def open_to_all(folder):
    """Let every user enter, or one who is not root would be kept out by that alone."""
    for one in (folder, *folder.parents):
        if one.stat().st_uid == os.getuid() and one.name.startswith(("pytest-", folder.name)):
            one.chmod(0o755)
