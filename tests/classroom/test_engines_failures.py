"""A cell that fails or hangs: its story is told in time, and the engines go on by themselves."""

import re

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import Deadlock, DiagnosedError, RankFailed, TimedOut
from ddl_runtime.launcher import watchdog

pytestmark = pytest.mark.real

SIZE = 4

MPI = "from mpi4py import MPI\nworld = MPI.COMM_WORLD\n"
KEEPS, LOSES = "keep their variables", "variables are lost"

# The cell, the error, whether the variables survive, and what the story must hold. Where only time
# ends it, that is up when all ranks have been <here>, or three of them where <three> stands.
FAILURES = {
    "one raises": (
        "if comm.rank == 2:\n    1 / 0\ncomm.barrier()", RankFailed, KEEPS,
        "rank 2 raised ZeroDivisionError", r'File "cell \[7\]", line 2',
        "The other ranks were stopped",
    ),
    "all raise": ("nonsense", RankFailed, KEEPS, "name 'nonsense'"),
    "a syntax error": ("x = (", RankFailed, KEEPS, "SyntaxError", r"cell \[7\]"),
    "a ring": (
        "comm.recv(np.zeros(2), (comm.rank + 1) % 4)", Deadlock, KEEPS,
        "4 ranks wait for each other", r"rank 3  recv\(source=0", r"line 1 of cell \[7\]: comm",
    ),
    "one does not come": (
        "if comm.rank:\n    comm.barrier()", Deadlock, KEEPS,
        r"rank 1  barrier\(\)", "every rank must call", r"line 2 of cell \[7\]: comm.barrier",
    ),
    "an endless loop": (
        "<here>\nwhile True:\n    pass", TimedOut, KEEPS, "time was up", "timeout",
    ),
    "sleep": (
        "import time\n<here>\ntime.sleep(1000)", TimedOut, KEEPS, r"time.sleep\(1000\)",
    ),
    "sys.exit": ("import sys\nsys.exit(3)", RankFailed, KEEPS, r"SystemExit\(3\): the program"),
    "exit": ("exit()", RankFailed, KEEPS, "SystemExit"),
    "swallows everything": (
        "while True:\n    try: comm.recv(np.zeros(2), 0, tag=9)\n    except BaseException: pass",
        DiagnosedError, LOSES, "recv",
    ),
    "waits in MPI": (
        f"{MPI}if comm.rank:\n    <three>\n    world.Recv(np.zeros(3), 0)", TimedOut, LOSES,
        "rank 0  (had returned|at)", r"rank 3  at line 5 of cell \[7\]: world.Recv",
        "Nothing could end the call that ranks 1, 2, 3 sat in",
    ),
    "MPI's barrier while one raised": (
        f"{MPI}import os\nif comm.rank == 1:\n    while os.stat('<marks>').st_size < 3: pass\n"
        "    raise ValueError('x')\n<here>\nworld.Barrier()", RankFailed, LOSES,
        "rank 1 raised ValueError: x", r"rank 2  at line 8 of cell \[7\]: .*world.Barrier",
    ),
    "deep in compiled code": (
        "<here>\nsum(range(10**12))", TimedOut, LOSES,
        r"rank 0  at line 2 of cell \[7\]: .*sum\(range",
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
@pytest.mark.sampled(16)
def test_a_failure_has_a_story_and_the_engines_go_on(engines, name, hourglass, tmp_path, request):
    code, error, after, *patterns = FAILURES[name]
    if after == LOSES:
        request.getfixturevalue("little_patience_with_engines")
    engines.push(kept="kept")
    mark = hourglass(3 if "<three>" in code else SIZE)
    for place, words in {
        "<here>": mark,
        "<three>": mark,
        "<marks>": str(tmp_path / "marks"),
    }.items():
        code = code.replace(place, words)
    with pytest.raises(error) as caught:
        engines.cell(code, timeout=1e5, name="cell [7]")
    text = str(caught.value)
    for pattern in [*patterns, after]:
        assert re.search(pattern, text), text
    assert "engines/" not in text
    found = engines.pull("(comm.rank, comm.size, globals().get('kept'))")
    assert found == [(r, SIZE, "kept" if after == KEEPS else None) for r in range(SIZE)]


def test_what_all_ranks_raise_is_told_once(engines, monkeypatch):
    monkeypatch.setattr(watchdog, "ALIKE_WITHIN", 1000)  # until all have raised
    with pytest.raises(RankFailed, match=r"The same happened on ranks \d, \d, \d") as caught:
        engines.cell("nonsense")
    assert str(caught.value).count("Traceback") == 1


def test_no_message_of_a_failed_cell_is_received_by_a_later_one(engines):
    stray = "x = np.full(3, 666.0)\nif comm.rank == 0:\n    comm.isend(x, 1)\n    "
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
