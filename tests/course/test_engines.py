"""Engines as plain Python sees them: cells, programs, outputs in rank order, recovery."""

import os
import re
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from ddl_teach.comm.story import Deadlock, RankFailed, StoryError, TimedOut
from ddl_teach.course import Engines

SIZE = 4
RECOVERY = 10  # seconds after which engines must answer again, whatever happened to them


@pytest.fixture(scope="module")
def engines():
    with Engines(SIZE) as engines:
        yield engines


def is_running(pid):
    """Also where nobody has taken leave of the dead."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def shown(engines, capsys, code, ranks=None):
    """What a cell shows, line by line."""
    capsys.readouterr()
    engines.cell(code, ranks)
    return capsys.readouterr().out.splitlines()


# -- what is there --------------------------------------------------------------------------


def test_every_rank_is_who_it_should_be(engines):
    assert engines.size == SIZE
    assert engines.pull("(comm.rank, comm.size)") == [(rank, SIZE) for rank in range(SIZE)]
    assert len(set(engines.pull("__import__('os').getpid()"))) == SIZE


@pytest.mark.parametrize(
    "expression",
    [
        "np.zeros(3).sum()",
        "ANY",
        "Phantom(8).nbytes",
        "simulate(lambda comm: comm.rank, 3).results",
        "networks.Uniform.__name__",
        "__import__('sys').modules.get('torch')",  # not before somebody asks for it
    ],
)
def test_the_courses_names_are_known(engines, expression):
    assert len(engines.pull(expression)) == SIZE


def test_each_rank_computes_with_one_thread(engines):
    assert engines.pull("__import__('os').environ['OMP_NUM_THREADS']") == ["1"] * SIZE


def test_values_go_to_the_ranks_and_come_back(engines):
    engines.push(table=np.arange(5), double=lambda x: 2 * x)
    values = engines.pull("double(table) + comm.rank")
    assert [value.tolist() for value in values] == [
        [2 * i + rank for i in range(5)] for rank in range(SIZE)
    ]


# -- outputs --------------------------------------------------------------------------------


def test_outputs_come_in_rank_order_whoever_was_first(engines, capsys):
    code = "comm.work(seconds=0.1 * (comm.size - comm.rank))\nprint('line')\ncomm.rank ** 2"
    expected = [f"[{rank}] {text}" for rank in range(SIZE) for text in ("line", rank**2)]
    assert shown(engines, capsys, code) == expected


def test_what_is_displayed_stands_between_what_is_printed_around_it(engines, capsys):
    code = "from IPython.display import display\nprint('a')\ndisplay('b')\nprint('c', end='')\n'd'"
    lines = shown(engines, capsys, code, [1])
    assert lines == ["[1] a", "[1] 'b'", "[1] c", "[1] 'd'"]


def test_what_compiled_code_prints_is_shown_too(engines, capsys):
    code = "import os\n_ = os.write(1, b'below Python\\n'); _ = os.write(2, b'and errors\\n')"
    assert shown(engines, capsys, code, [2]) == ["[2] below Python", "[2] and errors"]


def test_a_rank_that_prints_without_end_does_not_fill_the_notebook(engines, capsys):
    lines = shown(engines, capsys, "for i in range(100_000): print('x' * 50)", [0])
    assert len(lines) < 3000
    assert lines[-1].startswith("[0] ... and ")
    talk = "import threading\ngo = True\ndef talk():\n    while go: print('y' * 50)\n"
    start = "thread = threading.Thread(target=talk)\nthread.start()"
    shown(engines, capsys, talk + start, [0])
    shown(engines, capsys, "go = False\nthread.join()", [0])


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("%time x = 1", "Wall time"),
        ("!echo from a shell", "from a shell"),
        ("import asyncio\nawait asyncio.sleep(0, 'awaited')", "'awaited'"),
        ("int?", "Docstring"),
        ("x = 5;", None),
        ("print('no newline', end='')", "no newline"),
    ],
)
def test_cells_know_what_a_notebooks_cells_know(engines, capsys, code, line):
    lines = shown(engines, capsys, code, [3])
    assert (lines == []) if line is None else any(line in shown for shown in lines)


def program(comm, word):
    print(word, comm.rank)
    x = np.full(3, comm.rank)
    comm.sendrecv(x, (comm.rank + 1) % comm.size, x.copy(), (comm.rank - 1) % comm.size)
    return comm.rank


@pytest.mark.parametrize("ranks", [1, 3, None])
def test_a_whole_program_gives_a_run(engines, capsys, ranks):
    run = engines.run(program, ranks, word="rank")
    count = ranks or SIZE
    assert run.results == list(range(count))
    assert all(ledger.bytes_sent == 24 for ledger in run.ledger)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"[{rank}] rank {rank}" for rank in range(count)]


# -- failures -------------------------------------------------------------------------------

MPI = "from mpi4py import MPI\nworld = MPI.COMM_WORLD\n"
KEEPS, LOSES = "keep their variables", "variables are lost"

# The cell, the error, whether the variables survive, and what the story must hold.
FAILURES = {
    "one raises": (
        "if comm.rank == 2:\n    1 / 0\ncomm.barrier()", RankFailed, KEEPS,
        "rank 2 raised ZeroDivisionError", r'File "cell \[7\]", line 2',
        "The other ranks were stopped",
    ),
    "all raise": ("nonsense", RankFailed, KEEPS, "name 'nonsense'", "same happened on ranks"),
    "a syntax error": ("x = (", RankFailed, KEEPS, "SyntaxError", r"cell \[7\]"),
    "a ring": (
        "comm.recv(np.zeros(2), (comm.rank + 1) % 4)", Deadlock, KEEPS,
        "4 ranks wait for each other", r"rank 3  recv\(source=0", r"line 1 of cell \[7\]: comm",
    ),
    "one does not come": (
        "if comm.rank:\n    comm.barrier()", Deadlock, KEEPS,
        r"rank 1  barrier\(\)", "every rank must call", r"line 2 of cell \[7\]: comm.barrier",
    ),
    "an endless loop": ("while True:\n    pass", TimedOut, KEEPS, "time was up", "timeout"),
    "sleep": ("import time\ntime.sleep(99)", TimedOut, KEEPS, r"time.sleep\(99\)"),
    "sys.exit": ("import sys\nsys.exit(3)", RankFailed, KEEPS, r"SystemExit\(3\): the program"),
    "exit": ("exit()", RankFailed, KEEPS, "SystemExit"),
    "swallows everything": (
        "while True:\n    try: comm.recv(np.zeros(2), 0, tag=9)\n    except BaseException: pass",
        StoryError, LOSES, "recv",
    ),
    "waits in MPI": (
        f"{MPI}if comm.rank: world.Recv(np.zeros(3), 0)", TimedOut, LOSES,
        "rank 0  had returned", r"rank 3  at line 3 of cell \[7\]: .*world.Recv",
        "Nothing could end the call that ranks 1, 2, 3 sat in",
    ),
    "MPI's barrier while one raised": (
        f"{MPI}if comm.rank == 1: raise ValueError('x')\nworld.Barrier()", RankFailed, LOSES,
        "rank 1 raised ValueError: x", r"rank 2  at line 4 of cell \[7\]: world.Barrier",
    ),
    "deep in compiled code": (
        "sum(range(10**12))", TimedOut, LOSES, r"rank 0  at line 1 of cell \[7\]: sum\(range",
    ),
    "os._exit": ("import os\nif comm.rank == 1: os._exit(5)", RankFailed, LOSES, "rank 1 died"),
    "killed": (
        "import os\nif comm.rank == 3: os.kill(os.getpid(), 9)\ncomm.barrier()",
        RankFailed, LOSES, r"rank 3 died: killed by signal 9",
    ),
    "a segmentation fault": (
        "import ctypes\nif comm.rank == 2: ctypes.string_at(0)\ncomm.barrier()",
        RankFailed, LOSES, r"rank 2 died: killed by signal 11 .*line 2 of cell \[7\]: ",
    ),
    "MPI's Abort": (f"{MPI}if comm.rank == 1: world.Abort(3)", RankFailed, LOSES, "MPI's Abort"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_has_a_story_and_the_engines_go_on(engines, name):
    code, error, after, *patterns = FAILURES[name]
    engines.push(kept="kept")
    begun = time.monotonic()
    with pytest.raises(error) as caught:
        engines.cell(code, timeout=1.5, name="cell [7]")
    told = time.monotonic()
    assert told - begun < 1.5 + 5
    text = str(caught.value)
    for pattern in [*patterns, after]:
        assert re.search(pattern, text), text
    assert "engines/" not in text
    found = engines.pull("(comm.rank, comm.size, globals().get('kept'))")
    assert time.monotonic() - told < RECOVERY
    assert found == [(r, SIZE, "kept" if after == KEEPS else None) for r in range(SIZE)]


def test_no_message_of_a_failed_cell_is_received_by_a_later_one(engines):
    stray = "x = np.full(3, 666.0)\nif comm.rank == 0:\n    comm.send(x, 1)\n    "
    with pytest.raises(RankFailed):
        engines.cell(MPI + stray + "world.Send(x, 1)\ncomm.barrier()\nraise ValueError")
    right = "if comm.rank == 0:\n    {0}(np.ones(3), {1}1)\nif comm.rank == 1:\n    {2}(x, {3}0)"
    engines.push(x=np.zeros(3))
    engines.cell(right.format("comm.send", "", "comm.recv", ""))
    assert engines.pull("x")[1].tolist() == [1, 1, 1]
    engines.push(x=np.zeros(3))
    engines.cell(right.format("world.Send", "dest=", "world.Recv", "source="))
    assert engines.pull("x")[1].tolist() == [1, 1, 1]


def test_a_communicator_of_a_failed_cell_says_so(engines):
    with pytest.raises(RankFailed):
        engines.cell("half = comm.split(comm.rank % 2)\nif comm.rank == 0: raise ValueError")
    with pytest.raises(RankFailed, match="belongs to a cell that failed"):
        engines.cell("half.recv(np.zeros(3), 1 - half.rank)")


def test_a_message_may_wait_for_the_next_cell(engines):
    engines.cell("request = comm.isend(np.full(2, comm.rank), (comm.rank + 1) % 4)")
    engines.cell("y = np.zeros(2, int)\ncomm.recv(y, (comm.rank - 1) % 4)\nrequest.wait()")
    assert [y[0] for y in engines.pull("y")] == [3, 0, 1, 2]


def test_a_rank_that_is_not_asked_to_run_the_cell_is_named(engines):
    with pytest.raises(Deadlock, match="waits for rank 3, not asked to run this"):
        engines.cell("if comm.rank == 0: comm.recv(np.zeros(2), 3)", [0, 1])


def test_a_program_that_fails_leaves_the_variables(engines):
    engines.push(kept=1)
    with pytest.raises(RankFailed, match="rank 3 raised ZeroDivisionError") as caught:
        engines.run(lambda comm: 1 / (comm.rank - 3) + comm.barrier())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert engines.pull("kept") == [1] * SIZE


@pytest.mark.parametrize("timeout", [0, -1, "5", True])
def test_a_time_limit_is_a_positive_number(engines, timeout):
    with pytest.raises((TypeError, ValueError), match="timeout must be a"):
        engines.cell("1", timeout=timeout)


# -- life and death -------------------------------------------------------------------------


def test_engines_that_died_unseen_are_replaced(engines, capsys):
    os.kill(engines.pull("__import__('os').getpid()")[1], 9)
    psutil.wait_procs([psutil.Process(engines._crew.mpiexec.pid)], timeout=20)
    begun = time.monotonic()
    assert engines.pull("comm.rank") == list(range(SIZE))
    assert time.monotonic() - begun < RECOVERY
    assert "have ended since the last cell" in capsys.readouterr().out


def test_stopping_and_starting_again(engines):
    pids = engines.pull("__import__('os').getpid()")
    engines.stop()
    assert not any(map(is_running, pids))
    assert "stopped" in repr(engines)
    for use in (lambda: engines.cell("1"), lambda: engines.run(program, word=""), engines.pull):
        with pytest.raises((StoryError, TypeError), match=r"restart\(\)|positional"):
            use()
    engines.restart()
    assert engines.pull("comm.size") == [SIZE] * SIZE


START = """
from ddl_teach.course import Engines
with Engines(2) as engines:
    print(engines.pull("comm.size"))
"""


def test_an_environment_that_is_not_activated_and_another_mpi_first_on_the_path(tmp_path):
    other = tmp_path / "mpiexec"
    other.write_text("#!/bin/sh\necho a stranger; exit 1\n")
    other.chmod(0o755)
    settings = os.environ | {"PATH": f"{tmp_path}:/usr/bin:/bin", "PMI_RANK": "0"}
    done = subprocess.run(
        [sys.executable, "-c", START], env=settings, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[2, 2]\n", done.stderr
