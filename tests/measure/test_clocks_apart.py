"""Clocks that really differ: real ranks in time namespaces of their own, as on several nodes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ddl_runtime.launcher.mpiexec import mpi_command, mpi_environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
AHEAD = (0, 5000, 70, 100_000)  # seconds of each rank's clock
APART = ("unshare", "--user", "--map-root-user", "--time", "--monotonic")
RANK = """
import json
from ddl_teach import join
from ddl_measure.clocks import compare_clocks

def both(comm):
    readings = compare_clocks(comm), compare_clocks(comm)
    return [[reading.ahead, reading.bound] for reading in readings]

run = join(both)
for rank in run.results if run else ():
    print(json.dumps(rank), flush=True)
"""


def can_be_set_apart():
    if shutil.which(APART[0]) is None:
        return False
    done = subprocess.run([*APART, "5", "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(not can_be_set_apart(), reason="needs time namespaces (Linux, unshare)")
def test_clocks_that_differ_are_found_within_the_bound(tmp_path):
    (tmp_path / "rank.py").write_text(RANK)
    python = [sys.executable, str(tmp_path / "rank.py")]
    words = [*mpi_command(1), *python]
    for ahead in AHEAD[1:]:
        words += [":", "-n", "1", *APART, str(ahead), *python]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False,
        env={**mpi_environment(), "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ranks = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(ranks) == len(AHEAD)
    for ahead, readings in zip(AHEAD, ranks, strict=True):
        for found, bound in readings:
            assert abs(found - ahead) <= bound + 1e-9
            assert (bound > 0) == (ahead > 0)
