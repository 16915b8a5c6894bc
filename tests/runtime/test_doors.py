"""What real ranks of one machine leave open, and what they leave running."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ddl_runtime.launcher.mpiexec import mpi_family, mpiexec_path
from ddl_teach import Ranks, launch

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0  # seconds
LAUNCHER = """
import os, sys
from test_doors import starts_another
from ddl_teach import Ranks

print(*Ranks(2).run(starts_another).results, flush=True)
os.kill(os.getpid(), 9)
"""


def doors(comm):
    comm.barrier()
    listening = psutil.Process().net_connections("inet")
    return [each.laddr for each in listening if each.status == psutil.CONN_LISTEN]


def starts_another(comm):
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid


def lives(number):
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def all_end(numbers):
    ends = time.monotonic() + PATIENCE
    while any(map(lives, numbers)) and time.monotonic() < ends:
        time.sleep(0.05)
    return not any(map(lives, numbers))


@pytest.mark.skipif(sys.platform != "linux", reason="others ask for a right to look")
def test_ranks_of_one_machine_listen_to_nobody():
    if mpi_family(mpiexec_path()) != "openmpi":
        pytest.skip("MPICH's ranks listen")
    assert launch(doors, 3).results == [[], [], []]


def test_what_a_rank_starts_ends_with_it():
    with Ranks(3) as ranks:
        started = ranks.run(starts_another).results
        assert all(map(lives, started))
    assert all_end(started)


def test_what_a_rank_starts_ends_with_a_launcher_that_is_killed():
    folders = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER], capture_output=True, text=True, timeout=PATIENCE * 2,
        env=os.environ | {"PYTHONPATH": folders}, check=False,
    )  # fmt: skip
    started = [int(number) for number in done.stdout.split()]
    assert len(started) == 2, done.stderr
    assert all_end(started)
