"""A stranger's rank program runs as any other does, and its failures tell the same stories."""

import numpy as np
import pytest
from notebook_cells import RING

from ddl_teach import ANY, simulate
from ddl_teach.comm import story


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_what_ring_allreduce_leaves_behind_is_what_it_leaves_in_this_process(stage, ranks):
    rng = np.random.default_rng(ranks)
    arguments = [(rng.standard_normal(13),) for _ in range(ranks)]
    outcome = stage(RING, "ring_allreduce").run(ranks, arguments)
    expected = sum(x for (x,) in arguments)
    assert all(np.allclose(x, expected) for (x,) in outcome.arguments)

    names = {}
    exec(RING, names)
    copies = [x.copy() for (x,) in arguments]
    run = simulate(lambda comm: names["ring_allreduce"](comm, copies[comm.rank]), ranks)
    assert outcome.ledger == run.ledger
    assert outcome.time == run.time
    assert not np.shares_memory(outcome.arguments[0][0], arguments[0][0])


def test_every_verb_works_from_afar(stage):
    program = """
import numpy as np

def program(comm):
    x, y = np.full(3, comm.rank), np.zeros(3, int)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    request = comm.isend(x, right, tag=5)
    with comm.span("here"):
        assert comm.recv(y, left, tag=5) == left
    assert request.wait() == comm.rank
    requests = [comm.irecv(y, left, tag=tag) for tag in (1, 2)]
    for tag in (2, 1):
        comm.send(x, right, tag=tag)
    order = [comm.wait_any(requests) for _ in range(2)]
    comm.work(seconds=1.0)
    comm.barrier()
    assert comm.now() >= 1.0
    half = comm.split(comm.rank % 2)
    assert comm.split(None) is None
    comm.combine(x, y, y, op="max")
    return order, half.rank, half.size, y, comm.ledger.messages_sent
"""
    outcome = stage(program).run(4, [()] * 4)
    assert [half for _, half, _, _, _ in outcome.results] == [0, 0, 1, 1]
    assert [size for _, _, size, _, _ in outcome.results] == [2] * 4
    assert all(sorted(order) == [0, 1] for order, *_ in outcome.results)
    assert outcome.results[0][3].tolist() == [3, 3, 3]
    assert outcome.ledger[0].by_kind()["barrier"] == 2


def test_any_source_takes_the_earliest(stage):
    program = f"""
import numpy as np

def program(comm):
    x = np.array([float(comm.rank)])
    if comm.rank:
        comm.work(seconds=10.0 - comm.rank)
        return comm.send(x, 0)
    return [comm.recv(x, {ANY}) for _ in range(comm.size - 1)]
"""
    assert stage(program).run(4, [()] * 4).results[0] == [3, 2, 1]


def test_a_function_without_ranks(stage):
    program = "def program(x, n):\n    x *= n\n    return {'sum': x.sum(), 'list': [n, None]}"
    x = np.arange(3.0)
    assert stage(program).call(x, 2) == {"sum": 6.0, "list": [2, None]}
    assert x.tolist() == [0, 1, 2]


def test_a_deadlock_names_the_lines_of_the_answer_cell(stage):
    program = """\
import numpy as np
def program(comm):
    comm.recv(np.zeros(1), (comm.rank + 1) % comm.size)
"""
    with pytest.raises(story.Deadlock, match="line 3 of the answer cell, in program") as caught:
        stage(program).run(3, [()] * 3)
    assert caught.value.cycle == [0, 1, 2]


@pytest.mark.parametrize(
    ("body", "error", "told"),
    [
        ("1 / 0", story.RankFailed, "rank 0 raised ZeroDivisionError"),
        ("comm.send(x, 7)", story.RankFailed, r"rank 7 does not exist here; the ranks are 0 to 1"),
        ("comm.send(x[::2], 1)", story.RankFailed, "send numpy.ascontiguousarray"),
        ("comm.rank or comm.isend(x, 1)", story.Unreceived, "rank 0 sent 32 bytes to rank 1"),
        (
            "comm.sendrecv(x, 1 - comm.rank, x[: 1 + comm.rank].copy(), 1 - comm.rank)",
            story.RankFailed,
            "MessageMismatch.* does not fit: 32 bytes",
        ),
        ("while True: pass", story.TimedOut, "rank 0 still computed"),
        ("import os; os._exit(0)", story.RankFailed, r"rank 0 ended in the middle.*os\._exit"),
        ("return object()", story.RankFailed, "a object cannot travel"),
        ("comm.background(print)", story.RankFailed, "background functions do not run"),
    ],
)
def test_failures_tell_their_story(stage, body, error, told):
    program = f"import numpy as np\ndef program(comm):\n    x = np.zeros(4)\n    {body}\n"
    one = stage(program, seconds=3 if error is story.TimedOut else 100)
    with pytest.raises(error, match=f"(?s){told}"):
        one.run(2, [(), ()])


def test_an_error_can_be_caught_where_it_belongs(stage):
    program = """
def program(comm):
    try:
        comm.send("text", 0)
    except TypeError as error:
        return str(error)
"""
    assert "wrap it as a NumPy array" in stage(program).run(1, [()]).results[0]


def test_after_a_failure_the_stage_begins_anew(stage):
    one = stage("def program(comm, fail):\n    return 1 / (1 - fail)")
    with pytest.raises(story.RankFailed):
        one.run(3, [(1,)] * 3)
    assert one.run(2, [(0,)] * 2).results == [1.0, 1.0]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("program = 1", "NameError: the answer cell defines no function program"),
        ("def program(comm:\n", "SyntaxError"),
        ("raise SystemExit", "SystemExit"),
        ("import json.nonsense", "ModuleNotFoundError"),
    ],
)
def test_a_cell_that_cannot_run(stage, source, told):
    with pytest.raises(story.StoryError, match=f"your cell raised {told}"):
        stage(source).run(1, [()])


def test_what_speaks_to_the_notebook_is_passed_over(stage):
    source = """%%px
!ls
%matplotlib inline
from ddl_teach.course import Engines, check
engines = Engines(4)
engines.run(None).plot()

def program(comm):
    print("seen")
    return 1
"""
    one = stage(source)
    assert one.run(1, [()]).results == [1]
    assert one.printed == "seen\n"


def test_what_is_installed_can_be_imported_and_tensors_travel(stage):
    source = """
import sqlite3, psutil
import torch

def program(comm):
    x, y = torch.full((3,), float(comm.rank)), torch.zeros(3)
    comm.sendrecv(x, (comm.rank + 1) % comm.size, y, (comm.rank - 1) % comm.size)
    comm.combine(x, y, y)
    return y.tolist()
"""
    pytest.importorskip("torch")
    outcome = stage(source, memory=2**31).run(2, [()] * 2)
    assert outcome.results == [[1.0] * 3] * 2
    assert outcome.ledger[0].bytes_sent == 12
