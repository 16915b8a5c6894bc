"""A stranger's rank program runs as any other does, and its failures tell the same stories."""

import numpy as np
import pytest
from notebook_cells import RING

from ddl_class.exercises.stages import SimulatedStage
from ddl_class.grading.inside.wire import decode, encode
from ddl_class.grading.sandbox import Sandboxed
from ddl_runtime.diagnosis import deadlock
from ddl_teach import ANY, simulate

pytestmark = pytest.mark.real


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(3)
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


def test_one_rank_chooses_for_all_and_each_rank_runs_the_cells(stage, monkeypatch):
    tasks, tell = [], Sandboxed.tell

    def noting(rank, task, deadline):
        tasks.append(task[0])
        tell(rank, task, deadline)

    monkeypatch.setattr(Sandboxed, "tell", noting)
    drawn = stage("import random\nmine = random.random()\ndef program(comm): return mine")
    assert len({*drawn.run(2, [()] * 2).results, *drawn.run(3, [()] * 3).results}) == 3
    assert [tasks.count(task) for task in ("choose", "cells", "run")] == [1, 3, 5]


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
    rooms = np.zeros((2, 3), int)
    requests = [comm.irecv(rooms[tag - 1], left, tag=tag) for tag in (1, 2)]
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


BEGINS = """
import numpy as np

def program(comm):
    x, y = np.full(3, float(comm.rank)), np.zeros(3)
    group = comm.split(0)
    with comm.span("here"):
        requests = [
            each.irecv(y, (comm.rank - 1) % comm.size, tag=1) if receives
            else each.isend(x, (comm.rank + 1) % comm.size, tag=1)
            for each, receives in ((group, False), (comm, False), (group, True))
        ]
        comm.work(seconds=comm.rank)
    sources = [request.wait() for request in (requests[2], requests[0])]
    comm.recv(x.copy(), (comm.rank - 1) % comm.size, tag=1)
    comm.combine(y, y, y)
    return sources, requests[1].wait(), y
"""


def test_what_only_begins_something_waits_for_no_answer(stage, monkeypatch):
    answers, tell = [], Sandboxed.tell

    def noting(rank, value, deadline):
        answers.append(decode(encode(value)))
        tell(rank, value, deadline)

    monkeypatch.setattr(Sandboxed, "tell", noting)
    outcome = stage(BEGINS).run(3, [()] * 3)
    assert sum(value[0] == "done" for value in answers) == 3 * len(
        ["split", "wait", "wait", "recv", "wait"]
    )
    names = {}
    exec(BEGINS, names)
    run = simulate(names["program"], 3)
    assert outcome.ledger == run.ledger
    assert outcome.time == run.time
    for (sources, own, y), (*others, z) in zip(outcome.results, run.results, strict=True):
        assert [sources, own] == others
        assert y.tolist() == z.tolist()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("comm.isend(x, 7)", "isend: rank 7 does not exist here"),
        ("comm.irecv(x, 0, tag=-1)", "irecv: tag -1 is outside 0 to"),
        ("comm.work(seconds=-1.0)", "seconds must be zero or more"),
    ],
)
def test_what_cannot_begin_is_raised_at_its_own_line(stage, line, told):
    body = f"    try:\n        {line}\n    except ValueError as error:\n        return str(error)"
    program = f"import numpy as np\ndef program(comm):\n    x = np.zeros(4)\n{body}\n"
    assert told in stage(program).run(1, [()]).results[0]


UNSAFE = {
    "a buffer changed": (
        "r = comm.isend(x, right); x += 1; comm.recv(y, left); r.wait()",
        "changed",
    ),
    "a buffer changed, no wait": ("comm.isend(x, right); x += 1; comm.recv(y, left)", "changed"),
    "one buffer for both": ("comm.sendrecv(x, right, x, left)", "share memory"),
    "no wait": (
        "comm.irecv(y, left); comm.send(x, right)",
        r"without a wait\(\) for irecv.*:\d+ in program",
    ),
}


@pytest.mark.parametrize("what", UNSAFE)
def test_ranks_are_as_strict_as_where_answers_are_checked(stage, what):
    line, told = UNSAFE[what]
    program = f"""
import numpy as np

def program(comm):
    x, y = np.full(3, comm.rank), np.zeros(3, int)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    {line}
"""
    names = {}
    exec(program, names)
    checked = SimulatedStage(names["program"], 20.0)
    for one in (checked, stage(program)):
        with pytest.raises(deadlock.RankFailed, match=told):
            one.run(2, [()] * 2)


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


def test_functions_among_the_arguments_stay_with_the_grader(stage):
    program = """
def program(f, x, g):
    try:
        f(None)
    except ValueError as error:
        return f(x), g(x, 2), str(error), f.func.__module__
"""
    steps = []

    def stateful(x):
        steps.append(x + 1)
        return x + len(steps)

    outcome = stage(program).call(stateful, np.zeros(2), lambda x, n: n)
    assert outcome[0].tolist() == [1, 1]
    assert outcome[1] == 2
    assert outcome[2].startswith("it does not work for these arguments")
    assert outcome[3].startswith("ddl_class.grading.inside")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("f(np.zeros(10**6))", "given more than 10,000 numbers"),
        ("f.func(f.args[0], 7, 1)", "calls a function that it was not given"),
        ("f.func(f.args[0], 'f', 1)", "calls a function that it was not given"),
        ("f([[1], [1, 2]])", "does not work for these arguments"),
        ("f(x=1)", "TypeError"),
        ("return f", "cannot travel"),
    ],
)
def test_a_function_of_the_grader_takes_small_plain_arguments_only(stage, body, told):
    one = stage(f"import numpy as np\ndef program(f):\n    {body}\n")
    with pytest.raises(deadlock.DiagnosedError, match=told):
        one.call(lambda x: x)


def test_a_deadlock_names_the_lines_of_the_answer_cell(stage):
    program = """\
import numpy as np
def program(comm):
    comm.recv(np.zeros(1), (comm.rank + 1) % comm.size)
"""
    with pytest.raises(deadlock.Deadlock, match="line 3 of the answer cell, in program") as caught:
        stage(program).run(3, [()] * 3)
    assert caught.value.cycle == [0, 1, 2]


@pytest.mark.parametrize(
    ("body", "error", "told"),
    [
        ("1 / 0", deadlock.RankFailed, "rank 0 raised ZeroDivisionError"),
        (
            "comm.send(x, 7)",
            deadlock.RankFailed,
            r"rank 7 does not exist here; the ranks are 0 to 1",
        ),
        ("comm.send(x[::2], 1)", deadlock.RankFailed, "send numpy.ascontiguousarray"),
        ("comm.rank or comm.isend(x, 1)", deadlock.Unreceived, "rank 0 sent 32 bytes to rank 1"),
        (
            "comm.sendrecv(x, 1 - comm.rank, x[: 1 + comm.rank].copy(), 1 - comm.rank)",
            deadlock.RankFailed,
            "MessageMismatch.* does not fit: 32 bytes",
        ),
        ("while True: pass", deadlock.TimedOut, "rank 0 still computed"),
        ("import os; os._exit(0)", deadlock.RankFailed, r"rank 0 ended in the middle.*os\._exit"),
        ("return object()", deadlock.RankFailed, "a object cannot travel"),
        (
            "comm.background(print)",
            deadlock.RankFailed,
            "it calls comm.background, which does not",
        ),
    ],
)
@pytest.mark.sampled(3)
def test_failures_tell_their_story(stage, body, error, told):
    program = f"import numpy as np\ndef program(comm):\n    x = np.zeros(4)\n    {body}\n"
    one = stage(program, seconds=3 if error is deadlock.TimedOut else 100)
    with pytest.raises(error, match=f"(?s){told}"):
        one.run(2, [(), ()])


@pytest.mark.parametrize(
    ("body", "name", "sizes"),
    [
        ("comm.send(x, 7)", "NoSuchRank", None),
        ("comm.background(print)", "ForbiddenUse", None),
        (
            "comm.sendrecv(x, 1 - comm.rank, x[:2].copy(), 1 - comm.rank)",
            "MessageMismatch",
            (32, 16),
        ),
    ],
)
def test_failures_are_data_too(stage, body, name, sizes):
    program = f"import numpy as np\ndef program(comm):\n    x = np.zeros(4)\n    {body}\n"
    with pytest.raises(deadlock.RankFailed) as caught:
        stage(program).run(2, [(), ()])
    mismatch = caught.value.mismatch
    assert caught.value.exception == name
    assert (mismatch and (mismatch.sent[0], mismatch.wanted[0])) == sizes


@pytest.mark.parametrize(
    ("body", "limits", "limit"),
    [
        ("while True: pass", {"seconds": 2}, "time"),
        ("held = bytearray(99 * 2**20)\n    while True: pass", {"memory": 150 * 2**20}, "memory"),
        ("held = bytearray(2**31)", {}, "memory"),
        ("held = np.zeros(2**30)", {}, "memory"),
        ("import os; os._exit(1)", {}, ""),
        ("1 / 0", {}, ""),
        ("raise ValueError('MemoryError: told')", {}, ""),
    ],
)
@pytest.mark.sampled(2)
def test_which_limit_ended_a_rank_is_told(stage, body, limits, limit):
    one = stage(f"import numpy as np\ndef program(*_):\n    {body}\n", **limits)
    with pytest.raises(deadlock.DiagnosedError):
        one.run(2, [()] * 2)
    assert one.limit == limit


@pytest.mark.parametrize(
    ("body", "limit"), [("while True: pass", "time"), ("return 2**31 * b' '", "memory")]
)
@pytest.mark.sampled(2)
def test_which_limit_ended_a_function_is_told(stage, body, limit):
    one = stage(f"def program():\n    {body}\n", seconds=2 if limit == "time" else 100)
    with pytest.raises(deadlock.DiagnosedError):
        one.call()
    assert one.limit == limit


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
    with pytest.raises(deadlock.RankFailed):
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
    with pytest.raises(deadlock.DiagnosedError, match=f"your cell raised {told}"):
        stage(source).run(1, [()])


def test_what_speaks_to_the_notebook_is_passed_over(stage):
    source = """%%px
!ls
%matplotlib inline
from ddl_class import Engines, check
engines = Engines(4)
engines.run(None).plot()

def program(comm):
    print("seen")
    return 1
"""
    one = stage(source)
    assert one.run(1, [()]).results == [1]
    assert one.printed == "seen\n"


def test_a_warning_of_the_compiler_does_not_take_the_place_of_what_is_printed(stage):
    one = stage("print('seen')\ndef program(x): return x is 1")
    assert one.call(2) is False
    assert one.printed == "seen\n"


@pytest.mark.sampled(2)
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
