"""The cluster in a box: real nodes, real faults, and nothing left behind."""

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from boxes import box_or_skip, eventually, owner_of

from ddl_class.cli import main
from ddl_class.clusters.box import faults
from ddl_class.clusters.box.box import Box, can_delay
from ddl_class.commands.mistake import Mistake
from ddl_runtime.diagnosis.deadlock import Deadlock, DiagnosedError
from ddl_teach import Ranks, launch

pytestmark = pytest.mark.box

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0  # seconds for what must come
NAME = f"test-{os.getpid()}"
CONNECT = """
import socket, sys, time
begun = time.monotonic()
with socket.create_connection((sys.argv[1], 5000), timeout=float(sys.argv[2])) as line:
    while line.recv(65536):
        pass
print(time.monotonic() - begun)
"""
LISTEN = """
import socket, sys
with socket.create_server(("0.0.0.0", 5000)) as door:
    print("listening", flush=True)
    while True:
        line, _ = door.accept()
        line.sendall(bytes(int(sys.argv[1])))
        line.close()
"""
HELLO = """
from mpi4py import MPI
import socket
every = MPI.COMM_WORLD.allgather(socket.gethostname())
if MPI.COMM_WORLD.rank == 0:
    print(every)
"""


@pytest.fixture(scope="module")
def box():
    with box_or_skip(NAME) as made:
        yield made
    assert not made.folder.exists()
    assert not psutil.pid_exists(made.hosts.head)


@pytest.fixture
def sound(box):
    yield box
    for node in box.nodes:
        box.mend(node)


def said(box, node, *command):
    done = box.hosts.run(node, command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@contextlib.contextmanager
def server(box, nbytes):
    """node1 sends so many bytes to whoever connects."""
    words = box.hosts.words("node1", [sys.executable, "-c", LISTEN, str(nbytes)])
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "listening\n"
        yield
        faults.kill(box, "node1", "create_server")


def transfer(box, patience=PATIENCE):
    return float(said(box, "node0", sys.executable, "-c", CONNECT, "node1", str(patience)))


def test_every_node_has_its_own_of_everything(box):
    outside = {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "mnt", "pid", "uts")}
    for number, node in enumerate(box.nodes):
        for kind, ours in outside.items():
            assert said(box, node, "readlink", f"/proc/self/ns/{kind}") != ours
        assert said(box, node, "hostname") == node
        assert box.hosts.address(node) == f"10.77.0.{10 + number}"
        assert f"{box.hosts.address(node)}/24" in said(
            box, node, "ip", "-br", "addr", "show", "eth0"
        )
        said(box, node, "sh", "-c", f"echo {node} | tee /tmp/own /run/own /dev/shm/own")
        assert said(box, node, "sh", "-c", 'exec 2>&1; kill -0 "$0" || :', str(os.getpid()))
        assert len(box.hosts.processes(node)) == 0
    for place in ("/tmp/own", "/run/own", "/dev/shm/own"):
        assert [said(box, node, "cat", place) for node in box.nodes] == list(box.nodes)
        assert not Path(place).exists()
    (box.folder / "common").write_text("seen by all")
    assert {said(box, node, "cat", str(box.folder / "common")) for node in box.nodes} == {
        "seen by all"
    }


def reduce(comm, size):
    from ddl_teach.collectives import ring

    x = np.full(size, comm.rank + 1.0)
    ring.allreduce(comm, x)
    return comm.node, x[0], x[-1]


def test_rank_programs_run_on_nodes_and_ledgers_agree_with_the_cards(sound):
    before = sound.counters()
    run = launch(reduce, 3, on=sound, size=3 * 10_000)
    after = sound.counters()
    assert run.results == [(0, 6.0, 6.0), (0, 6.0, 6.0), (1, 6.0, 6.0)]
    assert [ledger.bytes_sent for ledger in run.ledger] == [4 * 80_000] * 3
    # Ranks 0 and 1 are on node0: their messages to each other take no cable.
    for node, rank in (("node0", 1), ("node1", 2)):
        crossed = after[node].sent_bytes - before[node].sent_bytes
        assert crossed > run.ledger[rank].bytes_sent
    assert all(len(spans) > 8 for spans in run.timeline.spans)


def test_mpi_itself_finds_the_nodes(box):
    told = said(box, "head", "mpiexec", "-n", "2", sys.executable, "-c", HELLO)
    assert told.splitlines()[-1] == "['node0', 'node1']"


def swap(comm, size):
    x, y = np.full(size, comm.rank), np.zeros(size, int)
    comm.sendrecv(x, 1 - comm.rank, y, 1 - comm.rank)
    return int(y[-1])


def wait_for_each_other(comm):
    comm.recv(np.zeros(3), 1 - comm.rank)


def test_what_is_long_under_way_is_no_deadlock_and_a_deadlock_is(sound):
    faults.slow(sound, "node1", "2mbit")
    with Ranks(2, on=sound) as ranks:
        assert ranks.run(swap, size=25_000).results == [1, 0]  # 0.8 s
        faults.slow(sound, "node1", "100mbit")
        with pytest.raises(Deadlock, match="2 ranks wait for each other in a ring"):
            ranks.run(wait_for_each_other, timeout=PATIENCE)


def test_a_link_carries_no_more_than_its_rate_and_a_cable_that_is_out_nothing(sound):
    with server(sound, 300_000):
        transfer(sound)
        faults.slow(sound, "node1", "8mbit")
        assert transfer(sound) > 0.28  # 300 kB at 1 MB/s; a few packets are counted earlier
        faults.cut(sound, "node1")
        assert [line.partition(",")[0] for line in sound.troubles()] == ["node1's cable is out"]
        out = sound.hosts.run(
            "node0",
            [sys.executable, "-c", CONNECT, "node1", "0.3"],
            capture_output=True,
            text=True,
        )
        assert "TimeoutError" in out.stderr
        sound.mend("node1")
        assert sound.troubles() == []
        transfer(sound)


def wait_for_ever(comm, marks):
    with open(marks, "a") as file:
        file.write("x")
    comm.recv(np.zeros(1), 1 - comm.rank) if comm.rank == 0 else time.sleep(1000)


@pytest.mark.parametrize("how", ["kill", "off"])
@pytest.mark.sampled(2)
def test_a_process_or_a_node_that_dies_is_told_and_the_next_program_runs(sound, how):
    marks = sound.folder / f"marks-{how}"
    marks.touch()

    def fault():
        eventually(lambda: marks.stat().st_size == 2)
        if how == "kill":
            faults.kill(sound, "node1", "ddl_runtime.launcher.worker")
        else:
            sound.hosts.power_off("node1")

    at_work = threading.Thread(target=fault)
    at_work.start()
    # Whoever notices first: the launcher, rank 0 by its connection, or mpiexec by its helper.
    told = r"rank \d died|its connection to another|mpiexec, .*, has ended"
    with pytest.raises(DiagnosedError, match=told):
        launch(wait_for_ever, 2, on=sound, timeout=PATIENCE, marks=str(marks))
    at_work.join()
    assert sound.troubles() == (["node1 is off"] if how == "off" else [])
    if how == "off":
        sound.mend("node1")
        assert said(sound, "node1", "sh", "-c", "ls /tmp/own 2>&1 || :").endswith("directory")
        assert launch(swap, 2, on=sound, size=3).results == [1, 0]
    eventually(lambda: not any(sound.hosts.processes(node) for node in sound.nodes))


def test_the_command_line_breaks_shows_and_mends(sound, capsys):
    def tool(*words):
        status = main(["box", words[0], "--name", NAME, *words[1:]])
        return status, capsys.readouterr().out

    status, shown = tool("fault", "node1", "cut")
    assert status == 0
    assert re.fullmatch(r"node1's cable is out, since [\d:]+, by process \d+ .*\n", shown)
    assert tool("fault", "node0", "slow", "1mbit")[1].startswith(
        "node0's cable is not what it was"
    )
    status, shown = tool("status")
    assert status == 0
    assert shown.splitlines()[1].split()[:4] == ["node0", "10.77.0.10", "1", "Mbit/s"]
    assert shown.splitlines()[2].split()[:3] == ["node1", "10.77.0.11", "out"]
    assert tool("mend")[1].count("100 Mbit/s") == 2
    for wrong in (("fault", "node1", "slow"), ("fault", "node1", "cut", "now"), ("exec", "head")):
        assert tool(*wrong)[0] == 2


def test_mistakes_are_explained(sound):
    for act, told in (
        (lambda: Box.up(name=NAME), "is up already"),
        (lambda: Box.find("nowhere"), "There is no box 'nowhere'"),
        (lambda: Box.up(nodes=0), "1 to 64"),
        (lambda: Box.up(rate="fast", name="other"), "bandwidth"),
        (lambda: Box.up(delay="1h", name="other"), "delay"),
        (lambda: Box.up(name="../x"), "cannot be called"),
        (lambda: sound.hosts.words("node7", ["true"]), "node0, node1"),
        (lambda: faults.loss(sound, "node0", "200%"), "0% to 100%"),
        (lambda: faults.kill(sound, "node0", "no such text"), "nothing runs there"),
    ):
        with pytest.raises(Mistake, match=told):
            act()
    if not can_delay(sound.hosts.root):
        with pytest.raises(Mistake, match="--switch user"):
            faults.delay(sound, "node0", "1ms")


def test_a_switch_in_user_space_delays_and_loses():
    if not Path("/dev/net/tun").exists():
        pytest.skip("there is no /dev/net/tun")
    with box_or_skip(f"{NAME}-u", delay="40ms", switch="user") as made:
        with server(made, 10):
            assert transfer(made) > 0.16  # there and back twice: a connection, then the bytes
            faults.loss(made, "node1", "100%")
            with pytest.raises(AssertionError, match="TimeoutError"):
                transfer(made, 0.5)
            made.mend("node1")
            made.hosts.power_off("node0")
            made.mend("node0")
            assert transfer(made) > 0.16
        assert launch(swap, 2, on=made, size=20_000).results == [1, 0]


def test_whoever_started_it_may_be_killed_and_nothing_stays(box):
    name = f"{NAME}-k"
    with owner_of(name) as owner:
        head = int(owner.stdout.readline())
        other = Box.find(name)
        daemon = subprocess.Popen(other.hosts.words("node1", ["setsid", "sleep", "1000"]))
        eventually(lambda: other.hosts.processes("node1"))
        inside = [head, *(process.pid for process in other.hosts.processes("node1"))]
        owner.kill()
    eventually(lambda: not any(map(psutil.pid_exists, inside)) and not other.folder.exists())
    daemon.wait()
