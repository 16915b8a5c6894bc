"""The same ranks by two ways: `%%px` and programs, and ipyparallel's client and views."""

import os
import signal
import subprocess
import sys
import time

import ipyparallel
import numpy as np
import pytest
from ipyparallel import interactive
from ipyparallel.error import CompositeError, RemoteError
from ipyparallel_tasks import all_reduce, rank_there

from ddl_runtime.diagnosis.deadlock import Deadlock, RankFailed, TimedOut

pytestmark = pytest.mark.real

SIZE = 4


def shown(engines, capsys, code, **options):
    """What a cell shows, line by line."""
    capsys.readouterr()
    engines.cell(code, **options)
    return capsys.readouterr().out.splitlines()


# -- before anybody asks --------------------------------------------------------------------

UNUSED = """
import sys
from ddl_class import Engines
with Engines(1) as engines:
    there = engines.pull("'ipyparallel' in __import__('sys').modules")
    print("ipyparallel" in sys.modules, there)
    print(engines.run(lambda comm: comm.size).results, engines.client.ids)
"""


def test_nothing_of_ipyparallel_is_loaded_before_it_is_used_perhaps_after_a_program():
    done = subprocess.run([sys.executable, "-c", UNUSED], capture_output=True, text=True)
    assert done.stdout == "False [False]\n[1] [0]\n", done.stderr


# -- one process, one namespace -------------------------------------------------------------


def test_an_engine_is_a_rank(own_engines, client, view):
    assert isinstance(client, ipyparallel.Client)
    assert client is own_engines.client
    assert client.ids == list(range(SIZE))
    assert view.apply(rank_there) == client.ids
    assert view.apply(os.getpid) == own_engines.pull("__import__('os').getpid()")


def test_both_ways_lead_to_the_same_variables(own_engines, view):
    own_engines.cell("x = comm.rank + 1")
    assert view["x"] == [1, 2, 3, 4]
    view["y"] = 7
    assert own_engines.pull("x + y") == [8, 9, 10, 11]
    view.execute("def double(z):\n    return 2 * z")
    assert own_engines.pull("double(x)") == [2, 4, 6, 8]
    assert (
        own_engines.pull("np.__name__")
        == view.apply(interactive(lambda: np.__name__))
        == ["numpy"] * SIZE
    )


def test_tasks_communicate(view):
    for result in view.apply(all_reduce, 5):
        assert result.tolist() == [10.0] * 5


def test_scatter_map_and_gather(client, view):
    view.scatter("part", np.arange(10))
    view.execute("part = part ** 2")
    assert view.gather("part").tolist() == [n * n for n in range(10)]
    assert view.map(interactive(lambda n: n + 1), range(7)) == list(range(1, 8))
    assert client.broadcast_view().apply_sync(abs, -5) == [5] * SIZE
    tried = client.load_balanced_view().map(interactive(lambda rate: rate * rate), range(20))
    assert tried.get(timeout=200) == [n * n for n in range(20)]


def test_exceptions_are_ipyparallels(client, view):
    with pytest.raises(RemoteError, match="ZeroDivisionError"):
        client[1].apply_sync(divmod, 1, 0)
    with pytest.raises(CompositeError, match=r"\[3:execute\]NameError"):
        view.execute("nonsense")


# -- outputs --------------------------------------------------------------------------------


def test_each_way_has_its_own_outputs(own_engines, client, view, capsys):
    code = "print('cell', comm.rank)\nimport os\n_ = os.system('echo below Python')\ncomm.rank"
    expected = [f"[{r}] {text}" for r in range(SIZE) for text in (f"cell {r}", "below Python", r)]
    assert shown(own_engines, capsys, code) == expected
    result = client[:].execute(code.replace("cell", "task"), silent=False)
    result.get(timeout=200)
    result.wait_for_output(200)
    assert result.stdout == [f"task {r}\nbelow Python\n" for r in range(SIZE)]
    assert [out["data"]["text/plain"] for out in result.execute_result] == ["0", "1", "2", "3"]
    assert shown(own_engines, capsys, code) == expected
    run = own_engines.run(lambda comm: print("program") or comm.rank)
    assert run.results == [0, 1, 2, 3]
    assert capsys.readouterr().out == "".join(f"[{r}] program\n" for r in range(SIZE))


def test_long_outputs_of_tasks_block_nobody(client):
    result = client[0].apply_async(os.system, "head -c 300000 /dev/zero | tr '\\0' x")
    assert result.get(timeout=200) == 0
    result.wait_for_output(200)
    assert len(result.stdout) == 300_000


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import asyncio\nawait asyncio.sleep(0.05, 'awaited')", "[2] 'awaited'"),
        ("from IPython.display import display\ndisplay('shown')", "[2] 'shown'"),
        ("type(get_ipython()).__name__", "[2] 'Shell'"),
    ],
)
def test_cells_find_their_own_ipython(own_engines, view, capsys, code, line):
    view.execute("name = type(get_ipython()).__name__")
    assert view["name"] == ["TaskShell"] * SIZE
    assert shown(own_engines, capsys, code, ranks=[2]) == [line]


def test_what_one_way_learns_to_show_the_other_shows(own_engines, view, capsys):
    printers = "get_ipython().display_formatter.formatters['text/plain']"
    view.execute(f"{printers}.for_type(complex, lambda value, printer, cycle: printer.text('i'))")
    assert shown(own_engines, capsys, "1j", ranks=[3]) == ["[3] i"]


# -- in turn, stopped, interrupted ----------------------------------------------------------


def test_a_cell_comes_between_two_tasks_and_not_into_one(own_engines, client):
    view = client[0]
    # Long until the cell has come, so that on a busy machine too it comes before the last.
    task = "order.append('a')\n'cell' in order or time.sleep(0.4)\norder.append('b')"
    view.execute("import time\norder = []", block=True)
    tasks = [view.execute(task, block=False) for _ in range(50)]
    time.sleep(0.2)
    own_engines.cell("order.append('cell')", [0])
    for task in tasks:
        task.get(timeout=200)
    text = "".join(own_engines.pull("globals().get('order', [])")[0])
    assert text.replace("cell", "") == 50 * "ab"
    assert text.index("cell") % 2 == 0
    assert not text.endswith("cell")


def test_a_deadlock_of_a_cell_has_its_story(own_engines, view):
    own_engines.push(kept=1)
    with pytest.raises(Deadlock, match="4 ranks wait for each other"):
        own_engines.cell("comm.recv(np.zeros(2), (comm.rank + 1) % 4)")
    with pytest.raises(RankFailed, match="rank 2 raised ZeroDivisionError"):
        own_engines.cell("if comm.rank == 2: 1 / 0\ncomm.barrier()")
    assert view["kept"] == [1] * SIZE
    assert view.apply(all_reduce, 1)[3] == [10.0]


HANGING = {
    "a wait of comm": "comm.recv(np.zeros(2), (comm.rank + 1) % 4)",
    "a loop": "while True: pass",
    "sleep": "import time\ntime.sleep(1000)",
}


def begin(client, code, marks):
    """Start a task on all engines; each has begun with it when this returns."""
    marks.touch()
    mark = f"open({str(marks)!r}, 'a').write('x')\n"
    started = client[:].execute(mark + code, block=False)
    while marks.stat().st_size < SIZE:
        time.sleep(0.05)
    return started


@pytest.mark.parametrize("name", HANGING)
@pytest.mark.sampled(3)
def test_a_task_that_hangs_is_stopped_for_the_next_cell(own_engines, client, view, name, tmp_path):
    own_engines.push(kept=name)
    started = begin(client, HANGING[name], tmp_path / "marks")
    with pytest.raises(TimedOut, match="rank 3  at"):
        own_engines.cell("1", timeout=1)
    assert own_engines.pull("(comm.rank, kept)") == [(rank, name) for rank in range(SIZE)]
    with pytest.raises(CompositeError, match="Stopped"):
        started.get(timeout=200)
    assert view.apply(all_reduce, 2)[0].tolist() == [10.0] * 2


def test_a_signal_interrupts_tasks(own_engines, client, tmp_path):
    started = begin(client, HANGING["sleep"], tmp_path / "marks")
    client.send_signal(signal.SIGINT, block=True)
    with pytest.raises(CompositeError, match="KeyboardInterrupt"):
        started.get(timeout=200)
    assert own_engines.pull("comm.rank") == list(range(SIZE))


def test_clearing_leaves_the_courses_names(own_engines, client):
    own_engines.push(gone=1)
    client.clear(block=True)
    assert own_engines.pull("('gone' in globals(), comm.rank, np.__name__)") == [
        (False, rank, "numpy") for rank in range(SIZE)
    ]
