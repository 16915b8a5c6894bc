"""Scripts that learners interrupt or kill: what they read, and that no process stays behind."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.real

ROOT = str(Path(__file__).resolve().parents[2])
PROGRAMS = """
import os, signal, sys, time
import numpy as np
from ddl_teach import Ranks, launch
from ddl_runtime.diagnosis.deadlock import DiagnosedError
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the caller ignores it

def waits(comm):
    begun(comm)
    if comm.rank:
        comm.recv(np.zeros(1), 0)
    time.sleep(1000)

def sleeps(comm):
    begun(comm)
    time.sleep(1000)

def computes(comm):
    begun(comm)
    while True:
        pass

def in_compiled_code(comm):
    begun(comm)
    sum(range(10**11))

def begun(comm):
    comm.barrier()
    if comm.rank == 0:
        print("begun", flush=True)

def ranks_of(comm):
    return comm.rank

def is_seen():
    while not os.path.exists("seen"):
        time.sleep(0.05)
"""


class Script:
    """A learner's script in a process of its own."""

    def __init__(self, folder, scratch, text):
        self.scratch = scratch
        self.file = folder / "script.py"
        self.file.write_text(PROGRAMS + text)
        self.process = subprocess.Popen(
            [sys.executable, self.file],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONPATH": ROOT, "TMPDIR": str(scratch)},
            cwd=folder,
            start_new_session=True,
        )
        self.said = ""

    def wait_for(self, words):
        """Read until a line holds these words; every process of the script is then known."""
        while words not in self.said:
            line = self.process.stdout.readline().decode()
            assert line, f"the script ended early: {self.said}"
            self.said += line
        self.family = psutil.Process(self.process.pid).children(recursive=True)
        assert len(self.family) >= 3
        self.shared = shared_files(self.family)
        (self.file.parent / "seen").touch()

    def end(self):
        """Its exit status, once it and all of its processes are gone."""
        self.said += self.process.communicate(timeout=200)[0].decode()
        _, alive = psutil.wait_procs(self.family, timeout=200)
        assert not alive
        return self.process.returncode

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def litter(self):
        """What it has left in the file system."""
        return [*self.scratch.rglob("*"), *filter(os.path.exists, self.shared)]


def shared_files(family):
    """The files of shared memory that these processes use, where the system tells."""
    maps = [Path(f"/proc/{process.pid}/maps") for process in family]
    texts = [each.read_text() for each in maps if each.exists()]
    return set(re.findall(r"/dev/shm/\S+", "\n".join(texts)))


@pytest.fixture
def script(tmp_path):
    scripts = []

    def start(text):
        scripts.append(Script(tmp_path, Path(scratch), text))
        return scripts[-1]

    with tempfile.TemporaryDirectory() as scratch:  # tmp_path is too long for a socket's name
        yield start
        for each in scripts:
            each.process.kill()
            each.process.communicate()


# -- Ctrl-C ---------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["waits", "computes"])
@pytest.mark.sampled(2)
def test_ctrl_c_ends_all_and_says_where_every_rank_was(script, program):
    running = script(f"launch({program}, 3)")
    running.wait_for("begun")
    running.interrupt()
    assert running.end() != 0
    assert "Interrupted. Where the ranks were:" in running.said
    for rank in range(3):
        assert re.search(rf"rank {rank}  .*script.py:\d+ in ({program}|begun)", running.said)


@pytest.mark.long
def test_ctrl_c_may_be_pressed_twice(script):
    running = script("launch(in_compiled_code, 3)")
    running.wait_for("begun")
    running.interrupt()
    time.sleep(0.3)
    running.interrupt()
    assert running.end() != 0
    assert "KeyboardInterrupt" in running.said or "Interrupted" in running.said


@pytest.mark.long
def test_ctrl_c_of_a_terminal_reaches_the_whole_group(script):
    running = script("launch(sleeps, 3)")
    running.wait_for("begun")
    os.killpg(running.process.pid, signal.SIGINT)
    assert running.end() != 0
    assert "Interrupted. Where the ranks were:" in running.said
    assert re.search(r"rank 2  .*script.py:\d+ in (sleeps|begun)", running.said)


def test_the_processes_live_on_after_ctrl_c(script):
    running = script("""
with Ranks(3) as ranks:
    try:
        ranks.run(waits)
    except KeyboardInterrupt as interrupt:
        print(type(interrupt).__name__)
    print(ranks.run(ranks_of).results)
""")
    running.wait_for("begun")
    running.interrupt()
    assert running.end() == 0
    assert running.said.endswith("Interrupted\n[0, 1, 2]\n")


def test_ctrl_c_while_the_processes_start(script):
    running = script('print("here", flush=True)\nlaunch(sleeps, 3)')
    running.family = []
    while "here" not in running.said:
        running.said += running.process.stdout.readline().decode()
    while len(running.family) < 2:
        running.family = psutil.Process(running.process.pid).children(recursive=True)
    running.interrupt()
    assert running.end() != 0
    assert "KeyboardInterrupt" in running.said


# -- killed ---------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["waits", "in_compiled_code"])
@pytest.mark.sampled(2)
def test_ranks_do_not_outlive_a_killed_script(script, program):
    running = script(f"launch({program}, 3)")
    running.wait_for("begun")
    running.process.kill()
    running.end()
    assert running.litter() == []


@pytest.mark.parametrize("ending", ["pass", "1 / 0"])
@pytest.mark.sampled(2)
@pytest.mark.long
def test_ranks_do_not_outlive_a_script_that_forgets_to_close(script, ending):
    running = script(f"ranks = Ranks(3)\nranks.run(begun)\nis_seen()\n{ending}")
    running.wait_for("begun")
    running.end()
    assert running.litter() == []


# -- programs from everywhere ---------------------------------------------------------------


def test_programs_travel_wherever_they_are_written(script, tmp_path):
    (tmp_path / "beside.py").write_text(
        "OFFSET = 10\nclass Holder:\n"
        "    def __init__(self, x):\n        self.x = x\n"
        "    def method(self, comm):\n        return self.x + comm.rank + OFFSET\n"
        "    __call__ = method\n"
        "class Mishap(Exception):\n    pass\n"
        "def fails(comm):\n    raise Mishap('of my own')\n"
    )
    running = script("""
import functools
import beside
begun_here = 5

def own(comm, step=1):
    return begun_here + step * comm.rank

with Ranks(3) as ranks:
    ranks.run(begun)
    is_seen()
    holder = beside.Holder(3)
    for program in (own, lambda comm: comm.rank, functools.partial(own, step=2),
                    holder, holder.method):
        print(ranks.run(program).results)
    try:
        ranks.run(beside.fails)
    except DiagnosedError as error:
        print(error, type(error.__cause__) is beside.Mishap)
""")
    running.wait_for("begun")
    assert running.end() == 0, running.said
    for results in ("[5, 6, 7]", "[0, 1, 2]", "[5, 7, 9]", "[13, 14, 15]\n[13, 14, 15]"):
        assert results in running.said
    assert re.search(r"Mishap: of my own.* True\n", running.said, re.DOTALL)
