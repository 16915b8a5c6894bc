"""Boxes for tests: a skip where a machine can have none, and one that another process owns."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ddl_class.clusters.box.box import Box
from ddl_class.commands.mistake import Mistake

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120.0  # seconds for what must come
OWNER = """
import sys, time
from ddl_class.clusters.box.box import Box
box = Box.up(nodes=2, name=sys.argv[1])
print(box.hosts.head, flush=True)
time.sleep(1000)
"""


def box_or_skip(name, nodes=2, **options):
    """A box whose nodes see this checkout."""
    try:
        return Box.up(nodes, name=name, **{"share": [str(ROOT)]} | options)
    except Mistake as refused:
        pytest.skip(str(refused).splitlines()[0])


def owner_of(name, course=ROOT):
    """A process that makes a box, says the number of its head, and does nothing more."""
    words = [sys.executable, "-c", OWNER, name]
    environment = os.environ | {"PYTHONPATH": str(course)}
    pipes = {"stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, **pipes, env=environment, cwd=course)


def eventually(happened):
    """Wait for an event, however busy the machine is."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
