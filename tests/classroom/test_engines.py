"""Engines as plain Python sees them: cells, programs, outputs in rank order, life and death."""

import os
import subprocess
import sys

import numpy as np
import psutil
import pytest

from ddl_class.engines import outputs
from ddl_class.engines.pool import Engines
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.launcher.pipe import Screen

pytestmark = pytest.mark.real

SIZE = 4
PATIENCE = 60  # seconds for what must come


def is_running(pid):
    """Also where nobody has taken leave of the dead."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def shown(engines, capsys, code, ranks=None):
    """What a cell shows, line by line."""
    capsys.readouterr()
    engines.cell(code, ranks)
    return capsys.readouterr().out.splitlines()


# -- what is there --------------------------------------------------------------------------


@pytest.mark.parametrize(("ranks", "words"), [(0, "at least 1, not 0"), ("x", "'x'")])
def test_engines_that_cannot_be_are_refused_in_one_line(ranks, words):
    with pytest.raises(DiagnosedError, match=words) as refused:
        Engines(ranks)
    (line,) = refused.value._render_traceback_()
    assert line.endswith("Engines(4) starts four.")


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


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (r"50%\r", ["[2] ready"]),
        ("50%", ["[2] 50%ready"]),
        (r"50%\n", ["[2] 50%", "[2] ready"]),
    ],
    ids=["rewritten", "begun", "whole"],
)
def test_what_a_rank_prints_is_previewed_while_the_cell_runs(
    engines, capsys, tmp_path, monkeypatch, text, kept
):
    seen = tmp_path / "seen"
    preview = Screen.preview

    def look(screen, rank, begun):
        preview(screen, rank, begun)
        if (rank, begun) == (2, "50%"):
            seen.touch()

    monkeypatch.setattr(Screen, "preview", look)
    monkeypatch.setattr(outputs, "watched", lambda: True)
    code = f"import pathlib, time\nprint('{text}', end='')\n"
    code += f"while not pathlib.Path({str(seen)!r}).exists(): time.sleep(0.01)\nprint('ready')"
    capsys.readouterr()
    engines.cell(code, [2], timeout=PATIENCE)
    *_, cleared, said = capsys.readouterr().out.split("\r")
    assert cleared.isspace()
    assert said.splitlines() == kept


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


@pytest.mark.parametrize("timeout", [0, -1, "5", True])
def test_a_time_limit_is_a_positive_number(engines, timeout):
    with pytest.raises((TypeError, ValueError), match="timeout must be a"):
        engines.cell("1", timeout=timeout)


# -- life and death -------------------------------------------------------------------------


def test_engines_that_died_unseen_are_replaced(engines, capsys):
    os.kill(engines.pull("__import__('os').getpid()")[1], 9)
    psutil.wait_procs([psutil.Process(engines._process_pool.mpiexec.pid)], timeout=120)
    assert engines.pull("comm.rank") == list(range(SIZE))
    assert "have ended since the last cell" in capsys.readouterr().out


def test_stopping_and_starting_again(engines):
    pids = engines.pull("__import__('os').getpid()")
    engines.stop()
    assert not any(map(is_running, pids))
    assert "stopped" in repr(engines)
    for use in (lambda: engines.cell("1"), lambda: engines.run(program, word=""), engines.pull):
        with pytest.raises((DiagnosedError, TypeError), match=r"restart\(\)|positional"):
            use()
    engines.restart()
    assert engines.pull("comm.size") == [SIZE] * SIZE


def test_a_copy_of_this_process_leaves_the_engines_alone(engines):
    if (copy := os.fork()) == 0:
        engines.stop()
        os._exit(0)
    os.waitpid(copy, 0)
    assert engines.pull("comm.rank") == list(range(SIZE))


START = """
from ddl_class import Engines
with Engines(2) as engines:
    print(engines.pull("comm.size"))
"""


def test_an_environment_that_is_not_activated_and_another_mpi_first_on_the_path(tmp_path):
    other = tmp_path / "mpiexec"
    other.write_text("#!/bin/sh\necho a stranger; exit 1\n")
    other.chmod(0o755)
    settings = os.environ | {"PATH": f"{tmp_path}:/usr/bin:/bin", "PMI_RANK": "0"}
    done = subprocess.run(
        [sys.executable, "-c", START], env=settings, capture_output=True, text=True, timeout=200
    )
    assert done.stdout == "[2, 2]\n", done.stderr


def test_a_program_does_not_see_how_cells_have_set_numpy(engines):
    engines.cell("np.seterr(all='raise')")
    assert engines.pull("np.geterr()['over']") == ["raise"] * SIZE
    assert engines.run(lambda comm: np.geterr()["over"]).results == ["warn"] * SIZE
    engines.cell("np.seterr(all='warn')")
