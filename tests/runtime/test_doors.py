"""What real ranks of one machine leave open, and what they leave running."""

import os
import socket
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


def launchers():
    """The ports of all networks on which mpiexec listens, of every run of this process."""
    return [
        line.laddr.port
        for each in psutil.Process().children()
        if each.name() != "sh"
        for line in each.net_connections("inet4")
        if line.status == psutil.CONN_LISTEN and line.laddr.ip == "0.0.0.0"
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="others ask for a right to look")
def test_the_launcher_of_one_machine_s_ranks_is_called_from_this_machine_alone():
    known = [each for addresses in psutil.net_if_addrs().values() for each in addresses]
    addresses = [each.address for each in known if each.family == socket.AF_INET]
    outside = [address for address in addresses if not address.startswith("127.")]
    if not outside:
        pytest.skip("this machine is on no network")
    with Ranks(2) as ranks:
        ranks.run(doors)
        ports = launchers()
        assert ports
        for port in ports:
            socket.create_connection(("127.0.0.1", port)).close()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((outside[0], port), timeout=PATIENCE)
        assert ranks.run(doors).results == [[], []]


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
