"""Packages of the system's own, downloaded and unpacked but not installed; or a skip."""

import os
import subprocess

import pytest

LIMIT = 500  # seconds for one command on a busy machine


def said(words, **options):
    """What a command prints, or a skip: this system cannot do it."""
    try:
        done = subprocess.run(words, text=True, capture_output=True, timeout=LIMIT, **options)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    if done.returncode:
        pytest.skip(f"{words[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return done.stdout


def unpacked(packages, folder):
    """The folder in which they lie, with what they need that is not installed; None if they
    are."""
    wanted = ["--no-install-recommends", *packages]
    planned = said(["apt-get", "install", "-s", *wanted], env=os.environ | {"LC_ALL": "C"})
    names = [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]
    if not names:
        return None
    folder.mkdir()
    said(["apt-get", "download", *names], cwd=folder)
    for package in folder.glob("*.deb"):
        said(["dpkg", "-x", package, folder / "root"])
    return folder / "root"
