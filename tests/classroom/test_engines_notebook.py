"""Engines behind a real kernel: `%%px`, pictures, interrupts, and the end of the kernel."""

import re
import threading
import time

import pytest
from notebook import START, await_empty, await_end, notebook

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def cells():
    """`cells(code)` runs a cell in a notebook with four engines."""
    with notebook() as opened:
        status, text = opened.run(START.format(4))
        assert (status, text) == ("ok", "")  # IPP_NONINTERACTIVE: no progress bar
        yield opened


def test_a_cell_runs_on_all_ranks_in_order(cells):
    status, text = cells.run("%%px\nprint('hello')\ncomm.rank + 10")
    assert status == "ok"
    assert text.split() == [
        w for r in range(4) for w in (f"[{r}]", "hello", f"[{r}]", f"{r + 10}")
    ]


def test_a_line_and_some_ranks(cells):
    assert cells.run("%px y = comm.rank\nprint('here')") == ("ok", "here\n")
    assert cells.run("%%px --ranks 1,3\ny")[1] == "[1] 1\n[3] 3\n"
    assert cells.run("%%px --targets 2:\ny")[1] == "[2] 2\n[3] 3\n"
    assert cells.run("%%px -t 0 --block\ny")[1] == "[0] 0\n"


def test_a_cell_may_run_here_too(cells):
    _, text = cells.run("%%px --local\ndef twice(x):\n    return 2 * x\nprint('read')")
    assert text.startswith("read\n[0] read")
    assert cells.run("print(twice(4))\n%px twice(comm.rank)")[1].startswith("8\n[0] 0\n[1] 2")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--noblock", "cells always wait"),
        ("--ranks 7", "numbers of 0 to 3"),
        ("--timeout 0", "positive number"),
        ("--nonsense", "%%px takes --ranks"),
    ],
)
def test_options_that_do_not_exist_are_refused(cells, options, words):
    status, text = cells.run(f"%%px {options}\n1")
    assert status == "error"
    assert words in text


def test_pictures_of_ranks_stand_with_their_rank(cells):
    status, text = cells.run(
        "%%px --ranks 0,2 --timeout 90\nimport matplotlib.pyplot as plt\nprint('before')\n"
        "plt.plot([1, comm.rank])\nplt.show()\nprint('after')"
    )
    picture = "[{0}] before\n[{0}]\n<image/png>\n[{0}] after\n"
    assert (status, text) == ("ok", picture.format(0) + picture.format(2))


def test_pictures_of_programs_show_too(cells):
    program = "def draw(comm):\n    import matplotlib.pyplot as plt\n    plt.plot([1])\n"
    status, text = cells.run(program + "run = engines.run(draw, 2, timeout=90)")
    assert (status, text) == ("ok", "[0]\n<image/png>\n[1]\n<image/png>\n")


def test_an_error_names_the_rank_the_cell_and_the_line(cells):
    number = int(re.search(r"\d+", cells.run("print(len(In) - 1)")[1])[0]) + 1
    status, text = cells.run("%%px\nx = comm.rank\n1 / (x - 2)\ncomm.barrier()")
    assert status == "error"
    assert text.startswith("RankFailed\nrank 2 raised ZeroDivisionError: division by zero\n")
    assert f'File "cell [{number}]", line 3' in text
    assert "1 / (x - 2)" in text
    assert "site-packages" not in text


def test_a_program_of_a_cell_shows_its_lines(cells):
    code = "def program(comm):\n    x = bytearray(3)\n    {}\nengines.run(program)"
    status, text = cells.run("import numpy as np\n" + code.format("comm.recv(np.zeros(3), 0)"))
    assert status == "error"
    assert "rank 1  recv(source=0" in text
    assert "line 4 of the cell that defines program: comm.recv(np.zeros(3), 0)" in text
    status, text = cells.run(code.format("return 1 / 0"))
    assert 'File "notebook cell", line 3, in program\n    return 1 / 0' in text


MPI = "from mpi4py import MPI\n"
LONG = {
    "a wait of comm": ("%%px\n{0}\ncomm.work(seconds=60)", "line 3 of cell"),
    "a wait in MPI": (f"%%px\n{MPI}{{0}}\nMPI.COMM_WORLD.Recv(bytearray(1), comm.rank)", "Recv"),
    "a program": (
        "def f(comm):\n    {0}\n    while True: pass\nengines.run(f)",
        "while True: pass",
    ),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.sampled(3)
def test_an_interrupted_cell_is_reported_and_the_next_one_works(cells, name, tmp_path):
    code, line = LONG[name]
    marks = tmp_path / "marks"
    marks.touch()

    def interrupt_when_all_are_there():
        while marks.stat().st_size < 4:
            time.sleep(0.05)
        time.sleep(0.5)
        cells.interrupt()

    threading.Thread(target=interrupt_when_all_are_there, daemon=True).start()
    leave_mark = f"with open({str(marks)!r}, 'a') as file: file.write('x')"
    status, text = cells.run(code.format(leave_mark))
    assert status == "error"
    assert text.startswith("Interrupted\nInterrupted. Where the ranks were:\n")
    assert all(re.search(rf"rank {rank}  at .*{re.escape(line)}", text) for rank in range(4)), text
    assert cells.run("%px comm.rank")[1] == "[0] 0\n[1] 1\n[2] 2\n[3] 3\n"


@pytest.mark.long
def test_twice_interrupted(cells, tmp_path):
    marks = tmp_path / "marks"
    marks.touch()

    def interrupt_twice():
        while marks.stat().st_size < 4:
            time.sleep(0.05)
        cells.interrupt()
        time.sleep(0.3)
        cells.interrupt()

    pressed = threading.Thread(target=interrupt_twice)
    pressed.start()
    code = f"%%px --timeout 1000\nopen({str(marks)!r}, 'a').write('x'); sum(range(10**12))"
    assert cells.run(code)[0] == "error"
    pressed.join()
    assert cells.run("%px comm.size") == ("ok", "[0] 4\n[1] 4\n[2] 4\n[3] 4\n")


def test_the_cell_that_starts_engines_may_be_run_again(cells):
    cells.run("%px kept = 1")
    _, text = cells.run(START.format(4))
    assert "4 engines run already" in text
    assert cells.run("%px --no = 1")[0] == "error"
    assert cells.run("%%px -t 0\nkept")[1] == "[0] 1\n"
    before = cells.processes()
    assert cells.run(START.format(2))[0] == "ok"
    assert cells.run("%px comm.size")[1] == "[0] 2\n[1] 2\n"
    assert await_end(before) == []
    _, text = cells.run("%px Engines = __import__('ddl_class').Engines; Engines()")
    assert "This runs on an engine already" in text


def test_stopped_engines_say_what_to_do(cells):
    assert cells.run("engines.stop()") == ("ok", "")
    assert cells.processes() == []
    status, text = cells.run("%%px\n1")
    assert status == "error"
    assert "Start them again with engines.restart()" in text
    assert cells.run("engines.restart()")[0] == "ok"
    assert cells.run("%%px --ranks 0\n1")[1] == "[0] 1\n"


# -- the end of the kernel ------------------------------------------------------------------

ENDS = {
    "idle": "%px 1",
    "waiting in MPI": f"%%px\n{MPI}MPI.COMM_WORLD.Recv(bytearray(1), comm.rank)",
    "deep in compiled code": "%%px\nsum(range(10**12))",
    "starting": "engines.restart()",
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.sampled(4)
def test_nothing_outlives_a_kernel_that_is_killed(name, tmp_path):
    with notebook(TMPDIR=str(tmp_path)) as opened:
        opened.run(START.format(2))
        opened.start(ENDS[name])
        time.sleep(1.0 if name != "starting" else 0.5)
        while (
            len(started := opened.processes()) < 2
        ):  # there are none for a moment when restarting
            time.sleep(0.05)
        opened.kill()
        assert await_end(started) == []
        assert await_empty(tmp_path) == []


@pytest.mark.long
def test_nothing_is_left_of_a_kernel_that_shuts_down(tmp_path):
    with notebook(TMPDIR=str(tmp_path), IPP_NONINTERACTIVE="") as opened:
        status, text = opened.run(START.format(2))
        assert status == "ok"
        assert "█" * 10 in text
        assert "2 engines are ready" in text.split("\r")[-1]
        opened.run("%px x = 1")
        started = opened.processes()
    assert await_end(started) == []
    assert await_empty(tmp_path) == []
