"""JupyterLab starts, as root too and without a screen, and its address leads to the notebook."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from ddl_teach.course import lab
from ddl_teach.course.mistake import Mistake

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
        assert urlopen(address, timeout=30).status == 200
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def test_without_notebooks_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(lab, "ROOT", tmp_path)
    with pytest.raises(Mistake, match="works in a clone of the course"):
        lab.open_lab([])
