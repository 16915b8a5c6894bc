"""Nurseries and lone programs behind walls, and a skip where a machine has none."""

import json
import subprocess
from contextlib import contextmanager

import pytest

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.sandbox import SandboxServer

NO_WALLS = "cannot confine a submission"


@contextmanager
def nursery_or_skip(walls=""):
    try:
        nursery = SandboxServer(walls=walls)
    except Mistake as error:
        if NO_WALLS not in str(error):
            raise
        pytest.skip(str(error))
    with nursery:
        yield nursery


def told_by(python, program, walls, *words, **options):
    """What a program that makes a nursery of its own prints of it."""
    done = subprocess.run(
        [python, program, walls, *words], capture_output=True, text=True, timeout=280, **options
    )
    if NO_WALLS in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert walls in told["walls"]
    return told
