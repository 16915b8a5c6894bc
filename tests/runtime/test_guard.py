"""Nobody outlives the launcher, whenever it is killed."""

import subprocess
import sys
import time

import psutil
import pytest

from ddl_runtime.launcher.process_pool import Reaper

pytestmark = pytest.mark.real

PATIENCE = 120  # seconds, on the busiest machine
RANK = "import time; time.sleep(600)"
MPIEXEC = f"""
import subprocess, sys, time
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", {RANK!r}], start_new_session=True)
time.sleep(600)
"""


def lives(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(true):
    end = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


@pytest.mark.parametrize("known", [False, True])
def test_ranks_end_with_their_launcher_also_those_that_have_not_said_hello(known, tmp_path):
    folder = tmp_path / "process_pool"
    folder.mkdir()
    guard = Reaper(folder)
    mpiexec = subprocess.Popen([sys.executable, "-c", MPIEXEC], start_new_session=True)
    parent, ranks = psutil.Process(mpiexec.pid), []
    try:
        assert until(lambda: len(parent.children()) == 3)
        ranks = parent.children()
        guard.watch_over([mpiexec.pid, *(rank.pid for rank in ranks if known)])
        guard._shell.terminate()  # as a batch job that is cancelled asks all in it
        guard._shell.stdin.close()  # as the end of the launcher does
        if known:
            mpiexec.kill()  # one that lost its ranks would leave
        assert until(lambda: not any(map(lives, [parent, *ranks])))
        mpiexec.wait()  # or it stays on the list, and the guard with it
        assert guard._shell.wait(PATIENCE) is not None
        assert not folder.exists()
    finally:
        for process in (parent, *ranks):
            if lives(process):
                process.kill()
        mpiexec.wait()
