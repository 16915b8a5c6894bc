"""Programs on ranks that mpiexec has started: their run, and what is said when they fail."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddl_runtime.launcher.mpiexec import mpi_command, mpi_environment

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import json, sys
import numpy as np
from ddl_teach import join

def program(comm, how):
    x, y = np.full(3, comm.rank, float), np.empty(3)
    onward, back = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if how == "raises" and comm.rank == 1:
        raise ValueError("no such step")
    if how == "hangs":
        comm.recv(y, onward, tag=7)
    if how == "loses" and comm.rank == 0:
        comm.send(x, 1, tag=5)
    comm.sendrecv(x, onward, y, back)
    return comm.rank, float(y[0])

run = join(program, timeout=2 if sys.argv[1] == "hangs" else 60, trace=True, how=sys.argv[1])
if run is not None:
    sent = [ledger.bytes_sent for ledger in run.ledger]
    print(json.dumps([run.results, sent, len(run.timeline.spans), run.time > 0]))
"""


def joined(folder, ranks, how):
    script = folder / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return subprocess.run(
        [*mpi_command(ranks), sys.executable, str(script), how], capture_output=True, text=True,
        timeout=120, env={**mpi_environment(), "PYTHONPATH": path}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.sampled(3)
def test_rank_0_is_given_the_run_of_all(tmp_path, ranks):
    done = joined(tmp_path, ranks, "works")
    assert done.returncode == 0, done.stderr
    results, sent, rows, took_time = json.loads(done.stdout)
    assert results == [[rank, (rank - 1) % ranks] for rank in range(ranks)]
    assert sent == [24] * ranks
    assert rows == ranks
    assert took_time


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raises", ["rank 1 on ", "ValueError: no such step", "script.py"]),
        ("hangs", ["rank 0 on ", "The time was up: 2 s", "recv(source=1, tag=7) of 24 bytes"]),
        ("loses", ["rank 0 sent 24 bytes to rank 1 with tag 5"]),
    ],
)
@pytest.mark.sampled(3)
def test_whoever_fails_says_how_and_ends_all(tmp_path, how, words):
    done = joined(tmp_path, 3, how)
    assert done.returncode != 0
    assert done.stdout == ""
    for said in words:
        assert said in done.stderr
