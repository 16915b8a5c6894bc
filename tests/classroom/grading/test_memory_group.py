"""The kernel's groups count what no rank has in its own tables; without one, ranks are counted."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from behind_walls import NO_WALLS, nursery_or_skip

from ddl_class.grading.inside import memory_group
from ddl_class.grading.inside.fork_server import ForkServer
from ddl_class.grading.inside.memory_group import MemoryGroup
from ddl_class.grading.sandbox import Limits
from ddl_class.grading.scoring import UntrustedStage

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
MIB = 2**20
# A process in a group of 100 MiB has a child that keeps so many MiB in one of these ways.
KEEPS = """
import ctypes, mmap, os, sys
from ddl_class.grading.inside.memory_group import MemoryGroup

def shared(size):
    return mmap.mmap(-1, size)

def file_in_memory(size):
    file = os.memfd_create("kept")
    os.ftruncate(file, size)
    return mmap.mmap(file, size)

group = MemoryGroup()
if group.folder is None:
    sys.exit("no group can be made")
group.allow(100 * 2**20)
if (child := os.fork()) == 0:
    for _ in range(int(sys.argv[2])):  # each is given back, and none of it is in the own tables
        kept = globals()[sys.argv[1]](20 * 2**20)
        kept.write(bytes(20 * 2**20))
        kept.madvise(mmap.MADV_DONTNEED)
        globals().setdefault("all", []).append(kept)
    os._exit(0)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), group.overrun(), group.overrun())
group.leave()
print(group.folder.exists())
"""
# Each rank keeps so many MiB that do not count as its own.
PROGRAM = """
import mmap

def program(comm, size):
    kept = [mmap.mmap(-1, 10 * 2**20) for _ in range(size // 10)]
    for part in kept:
        part.write(bytes(10 * 2**20))
        part.madvise(mmap.MADV_DONTNEED)
    comm.barrier()
    return size
"""


def ran(*words, **options):
    done = subprocess.run(words, text=True, capture_output=True, cwd=ROOT, timeout=280, **options)
    if "no group can be made" in done.stderr or NO_WALLS in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[0])
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("pieces", "ending"), [(3, "0 False"), (8, "-9 True")])
@pytest.mark.parametrize("way", ["shared", "file_in_memory"])
def test_what_is_shared_counts_up_to_the_limit(way, pieces, ending):
    assert ran(sys.executable, "-c", KEEPS, way, str(pieces)).split("\n")[:2] == [
        f"{ending} False",
        "False",
    ]


def keeps(nursery, size):
    """What four ranks return that each keep so many MiB, where 300 are allowed to all."""
    limits = Limits(seconds=100, memory=300 * MIB)
    with UntrustedStage(nursery, [("a cell", PROGRAM)], "program", limits) as stage:
        return stage.run(4, [(size,)] * 4).results


def test_ranks_cannot_hide_what_they_keep(nursery):
    if (group := MemoryGroup()).folder is None:
        pytest.skip("no group can be made")
    group.leave()
    assert keeps(nursery, 50) == [50] * 4
    with pytest.raises(Exception, match="ranks together used more memory than an exercise may"):
        keeps(nursery, 150)
    assert keeps(nursery, 50) == [50] * 4  # the next exercise has all of it again


class EndsLate(MemoryGroup):
    """Planted: the kernel ends this process while it is being reaped."""

    def __init__(self, process):
        self.folder = None
        self.left = [process]

    def overrun(self):
        return bool(self.left) and not psutil.pid_exists(self.left[0]) and bool(self.left.pop())


def test_a_late_end_for_memory_is_that_of_the_rank_that_caused_it():
    with (
        socket.socket() as control,
        subprocess.Popen(["sleep", "60"]) as greedy,
        subprocess.Popen(["sleep", "60"]) as later,
    ):
        server = ForkServer(control, {}, group=EndsLate(greedy.pid))
        server.alive[greedy.pid] = 2**30
        assert server._reap(greedy.pid)["reason"] == "memory"
        server.alive[later.pid] = 2**30
        server._watch_memory()
        assert server._reap(later.pid)["reason"] == ""


def test_a_group_goes_with_its_nursery():
    others = set(psutil.Process().children())
    with nursery_or_skip():
        [server] = set(psutil.Process().children()) - others
        groups = list(memory_group.TOP.rglob(f"ddl-teach-{server.pid}"))
        if not groups:
            pytest.skip("no group can be made")
    assert not any(group.exists() for group in groups)


WITHOUT = """
import sys
from ddl_class.grading.sandbox import Limits, SandboxServer
from ddl_class.grading.scoring import UntrustedStage
SOURCE = '''
def program(comm, size):
    held = bytearray(size * 2**20)
    comm.barrier()
    while size > 50:
        pass
    return size
'''
limits = Limits(seconds=100, memory=300 * 2**20)
with SandboxServer() as nursery:
    for size in (50, 100):
        with UntrustedStage(nursery, [("a cell", SOURCE)], "program", limits) as stage:
            try:
                print(stage.run(4, [(size,)] * 4).results)
            except Exception as error:
                print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay something over the groups")
def test_without_a_group_ranks_are_counted():
    over = 'mount -t tmpfs -o ro tmpfs /sys/fs/cgroup && exec "$@"'
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", over, "sh"]
    assert (
        "no group"
        in subprocess.run(
            [*words, sys.executable, "-c", KEEPS, "shared", "1"],
            cwd=ROOT,
            text=True,
            capture_output=True,
        ).stderr
    )
    told = ran(*words, sys.executable, "-c", WITHOUT)
    assert "[50, 50, 50, 50]" in told
    assert "ranks together used more memory than an exercise may" in told


def test_beside_the_own_group_by_the_names_of_version_2(tmp_path, monkeypatch):
    """Planted: below a group that has processes the second version gives no limits."""
    (tmp_path / "app.slice").mkdir()
    (tmp_path / "own").write_text("0::/app.slice/terminal.scope\n")
    monkeypatch.setattr(memory_group, "TOP", tmp_path)
    monkeypatch.setattr(memory_group, "OWN", tmp_path / "own")
    group = MemoryGroup()
    assert group.folder == tmp_path / "app.slice" / f"ddl-teach-{os.getpid()}"
    group.allow(5000)
    files = {path.name: path.read_text() for path in group.folder.iterdir()}
    assert files == {"memory.max": "5000", "memory.swap.max": "0", "cgroup.procs": "0"}
    (group.folder / "memory.events").write_text("low 0\nmax 7\noom 1\noom_kill 2\n")
    assert [group.overrun(), group.overrun()] == [True, False]
