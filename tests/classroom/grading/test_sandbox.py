"""Each wall holds alone, for root and for an ordinary user; without any, nothing is graded."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import attack_alone
import psutil
import pytest
from behind_walls import told_by

from ddl_class.commands.mistake import Mistake
from ddl_class.grading import sandbox
from ddl_class.grading.inside import system_calls
from ddl_class.grading.sandbox import BOTH_WALLS, SECOND_WALL, Limits, SandboxServer
from ddl_class.grading.scoring import UntrustedStage

pytestmark = pytest.mark.slow

BY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
ORDINARY = 12_345
HERE = Path(__file__).resolve()


@pytest.mark.parametrize(
    ("walls", "user"),
    [
        pytest.param(SECOND_WALL, 0, id="second wall"),
        pytest.param(BOTH_WALLS, ORDINARY, id="ordinary user", marks=BY_ROOT),
        pytest.param(SECOND_WALL, ORDINARY, id="ordinary user, second wall", marks=BY_ROOT),
    ],
)
@pytest.mark.long  # those on both walls together are in test_attacks.py
def test_attacks_break_on_each_wall(walls, user, tmp_path):
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # or an ordinary user would be kept out by that alone
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[3]), str(HERE.parent)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SECRET_OF_THE_GRADER": "1",
    }
    words = str(user), str(tmp_path / "desk")
    program = attack_alone.__file__
    told = told_by(sys.executable, program, walls, *words, env=environment, cwd="/")
    for name, attack in attack_alone.QUICK.items():
        points, message = told["earned"][name]
        assert points == (2 if attack.earns else 0), (name, message)
        assert "LEAK" not in message, name
    assert list((tmp_path / "desk" / "marks").iterdir()) == []


def test_without_walls_nothing_is_graded(monkeypatch):
    def fail(*_):
        raise OSError("Operation not permitted: unshare")

    monkeypatch.setattr(SandboxServer, "start_rank", fail)
    with pytest.raises(Mistake, match=r"(?s)not permitted: unshare.*grade on Linux 5\.13"):
        SandboxServer()


def test_elsewhere_than_on_linux_nothing_is_graded(monkeypatch):
    monkeypatch.setattr(sandbox.sys, "platform", "darwin")
    with pytest.raises(Mistake, match=r"(?s)darwin has neither.*a container of the course"):
        SandboxServer()


def test_the_second_wall_does_not_suffice_without_the_third(monkeypatch):
    class Newborn:
        walls = (SECOND_WALL,)

        def end(self):
            pass

    monkeypatch.setattr(SandboxServer, "start_rank", lambda *_: Newborn())
    with pytest.raises(Mistake, match="without seccomp"):
        SandboxServer(walls=SECOND_WALL)


@pytest.mark.parametrize(
    ("ending", "limit"),
    [
        ({"alone": True, "status": -signal.SIGKILL, "reason": "memory"}, "memory"),
        ({"alone": True, "status": -signal.SIGKILL, "reason": ""}, "time or memory"),
        ({"alone": True, "status": -signal.SIGXCPU, "reason": ""}, "time or memory"),
        ({"alone": True, "status": -signal.SIGSEGV, "reason": ""}, ""),
        ({"alone": True, "status": 1, "reason": ""}, ""),
        ({"alone": False, "status": -signal.SIGKILL, "reason": ""}, ""),
    ],
)
def test_an_end_says_which_limit_can_have_brought_it(ending, limit):
    assert sandbox._how_it_ended(**ending).limit == limit


def test_what_ends_takes_everything_with_it(nursery):
    born = [nursery.start_rank(Limits()) for _ in range(3)]
    processes = [psutil.Process(one._process) for one in born]
    for one in born:
        one.end()
    assert not any(process.is_running() for process in processes)


@pytest.mark.parametrize("hard", [False, True], ids=["the grader ends", "the grader is killed"])
def test_no_rank_outlives_the_grader(hard):
    program = """
import marshal, sys, time
from ddl_class.grading.sandbox import Limits, SandboxServer
nursery = SandboxServer()
rank = nursery.start_rank(Limits(seconds=1000))
endless = marshal.dumps(compile("while True: pass", "a cell", "exec"))
rank.tell(("cells", ("f", [("a cell", 1, [], endless)], {}), ()), time.monotonic() + 99)
print(rank._process, flush=True)
sys.stdin.read()
"""
    grader = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=HERE.parents[3], text=True,
    )  # fmt: skip
    rank = psutil.Process(int(grader.stdout.readline()))
    assert rank.is_running()
    if hard:
        grader.kill()
    grader.communicate()
    deadline = time.monotonic() + 60
    while rank.is_running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not rank.is_running()


def test_the_memory_of_all_ranks_together_is_limited(nursery, stage):
    """The grader listens to rank 0, the least greedy: it hears of the end at once all the same."""
    source = (
        "def program(comm):\n    held = bytearray((10 + 90 * (comm.rank > 0)) * 2**20)\n"
        "    comm.barrier()\n    while True:\n        pass\n"
    )
    with pytest.raises(Exception, match="ranks together used more memory than an exercise may"):
        stage(source, memory=300 * 2**20).run(4, [()] * 4)


def test_memory_that_could_be_shared_is_counted(stage):
    source = (
        "import mmap\ndef program(comm):\n    held = mmap.mmap(-1, 100 * 2**20)\n"
        "    held.write(bytes(100 * 2**20))\n    comm.barrier()\n    while True:\n        pass\n"
    )
    with pytest.raises(Exception, match="ranks together used more memory than an exercise may"):
        stage(source, memory=300 * 2**20).run(4, [()] * 4)


@pytest.mark.long
def test_what_is_imported_for_all_is_charged_to_nobody():
    """torch alone, in each of ten ranks, would be more than an exercise may use."""
    source = (
        "import torch\ndef program(comm, more):\n    held = bytearray(b'x') * (more * 2**20)\n"
        "    comm.barrier()\n    while more > 50:\n        pass\n"
        "    return torch.full((3,), comm.rank).tolist()\n"
    )
    with SandboxServer(modules=["torch"]) as nursery:
        for more in (50, 150):
            with UntrustedStage(nursery, [("a cell", source)], "program") as stage:
                if more == 50:
                    assert stage.run(10, [(more,)] * 10).results[9] == [9, 9, 9]
                else:
                    with pytest.raises(Exception, match="ranks together used more memory"):
                        stage.run(10, [(more,)] * 10)


SYSTEM_CALLS = system_calls.PERMITTED | {
    name: about[0] for name, about in (system_calls.ONLY_WITH | system_calls.NOT_WITH).items()
}


@pytest.mark.parametrize(
    ("header", "column"),
    [("x86_64-linux-gnu/asm/unistd_64.h", 0), ("asm-generic/unistd.h", 1)],
    ids=system_calls.PROCESSORS,
)
def test_the_numbers_of_system_calls_are_those_of_the_kernels_headers(header, column):
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip("no header to compare with")
    known = re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", path.read_text())
    numbers = {name: int(number) for name, number in known}
    numbers |= {f"new{name}": numbers[name] for name in ("fstatat",) if name in numbers}
    right = {name: numbers.get(name) for name in SYSTEM_CALLS}
    assert {name: both[column] for name, both in SYSTEM_CALLS.items()} == right


UNCOUNTED = """
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)

def program(number, *words):
    libc.syscall.restype = ctypes.c_long
    return libc.syscall(number, *words), os.strerror(ctypes.get_errno())
"""


@pytest.mark.parametrize(
    ("number", "words", "why"),
    [
        (319, [b"name", 0], "Operation not permitted"),  # memfd_create
        (29, [0, 4096, 0o600], "Operation not permitted"),  # shmget
        (425, [1, 0], "Operation not permitted"),  # io_uring_setup
        (41, [1, 1, 0], "Operation not permitted"),  # socket
        (57, [], "Operation not permitted"),  # fork
        (56, [0, 0, 0, 0, 0], "Operation not permitted"),  # clone, of a process
        (999, [], "Function not implemented"),  # one that will be
    ],
)
def test_what_is_not_on_the_list_is_refused(stage, number, words, why):
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of x86_64")
    assert stage(UNCOUNTED).call(number, *words) == (-1, why)


def test_what_takes_long_is_imported_once_for_all():
    source = "import sys\ndef program():\n    return 'wave' in sys.modules"
    with (
        SandboxServer(modules=["wave"]) as nursery,
        UntrustedStage(nursery, [("a cell", source)], "program") as stage,
    ):
        assert stage.call()
