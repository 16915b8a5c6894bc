"""JupyterLab starts, as root too and without a screen, and its address leads to the notebook."""

import os
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from ddl_class.commands.mistake import Mistake
from ddl_class.release import lab

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def test_the_address_opens_the_first_notebook(tmp_path):
    without_screen = {n: v for n, v in os.environ.items() if "DISPLAY" not in n and n != "BROWSER"}
    process = subprocess.Popen(
        [sys.executable, "-m", "ddl_teach", "lab", "--", "--port=0"],
        env=without_screen | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        addresses = (re.search(r"http://127\S+token=\w+", line) for line in process.stdout)
        address = next(filter(None, addresses))[0]
        assert "/lab/tree/notebooks/00_tour.ipynb?" in address
        assert answer(address) == 200
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:  # a server stopped while it still starts may hang
            process.kill()
            process.communicate()


def answer(address: str) -> int:
    """The status with which the server answers; it may print its address a moment too early."""
    for _ in range(60):
        try:
            return urlopen(address, timeout=30).status
        except URLError:
            time.sleep(0.5)
    raise AssertionError(f"nobody answers at {address}")


def test_without_notebooks_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(lab, "ROOT", tmp_path)
    with pytest.raises(Mistake, match="works in a clone of the course"):
        lab.open_lab(Namespace(others=[]))
