"""The doctor of nodes on nodes that have addresses of their own: those of a box."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from boxes import box_or_skip

pytestmark = pytest.mark.box

ROOT = Path(__file__).resolve().parents[2]
NAME = f"cluster-{os.getpid()}"


@pytest.fixture
def box(tmp_path):
    with box_or_skip(NAME, share=[str(ROOT), str(tmp_path)]) as made:
        yield made


def test_the_nodes_of_a_box_are_fit(box, tmp_path):
    words = ["check", "box", "--name", NAME, "--folder", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "ddl_teach", "cluster", *words],
        env=os.environ | {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "2 ranks know of each other, on 2 nodes",
        "MPI crosses by eth0",
        "can call 10.77",
    ):
        assert words in done.stdout
