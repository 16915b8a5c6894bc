"""What an answer may have beside its function, and what it may not take from the library."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from answer_cells import HONEST, SOURCE
from cases import chosen
from handed_in import SOURCE as SMALL
from handed_in import Desk
from notebook_cells import RING
from run_notebooks import run_all

from ddl_class.grading.batch import grade
from ddl_class.grading.sandbox import Limits
from ddl_class.grading.scoring import UntrustedStage, score_answers
from ddl_class.grading.submission import read_answers, read_assignment
from ddl_class.release import release
from ddl_teach import plain, simulate
from ddl_teach.collectives import ring

pytestmark = pytest.mark.slow


class Desk06:
    """A notebook of unit 06 with some cells, and what it earns."""

    def __init__(self, folder):
        self.source = folder / "06_some.py"
        self.source.write_text(SOURCE)
        self.assignment = read_assignment(self.source)

    def answers(self, exercise, answer, above=(), below=(), without=()):
        notebook = json.loads(release.text(release.learners(self.source)))
        cells = [
            cell for cell in notebook["cells"] if not any(word in str(cell) for word in without)
        ]
        for cell in cells:
            if cell["id"] == f"{exercise.replace('.', '-')}-answer":
                cell["source"] = answer
        place = next(n for n, cell in enumerate(cells) if cell["source"] == answer)
        extra = [[{"cell_type": "code", "source": one} for one in two] for two in (above, below)]
        notebook["cells"] = [
            *cells[:place],
            *extra[0],
            cells[place],
            *extra[1],
            *cells[place:][1:],
        ]
        return read_answers(json.dumps(notebook).encode(), self.assignment)

    def score(self, nursery, exercise, answers):
        limits = Limits(seconds=500)  # on a busy machine
        scores = score_answers(nursery, self.assignment, answers, 1, limits)
        return next(one for one in scores if one.exercise == exercise)


@pytest.fixture
def desk(tmp_path):
    return Desk06(tmp_path)


@pytest.mark.parametrize("case", HONEST)
@pytest.mark.sampled(18)
def test_a_right_answer_keeps_its_points_whatever_else_its_cell_does(desk, nursery, case):
    answer, above, below = HONEST[case]
    lost = ["import numpy as np\\n"] if case == "the instructor's, lost" else []
    answers = desk.answers("06.ring", answer, above, below, lost)
    score = desk.score(nursery, "06.ring", answers)
    assert score.points == 2, score.message


@pytest.mark.long
def test_what_a_submission_imports_slowly_counts_for_no_rank(tmp_path):
    pytest.importorskip("torch")
    desk = Desk(tmp_path)
    desk.source.write_text(SMALL.replace("ranks=(1, 4)", "ranks=(12,)"))
    desk.hand_in("ann", desk.notebook(f"import torch\n{RING}\ntorch.manual_seed(1)"))
    [ann] = grade(desk.submissions, desk.source, desk.out, limits=Limits(seconds=200))
    assert ann.scores[0].points == 2, ann.scores[0].message


SWAP = "def swap_allreduce(comm, x):\n    {}"
FUNCTION = r"(?m)^def (\w+_(?:allreduce|scatter))"
REFUSED = {
    "the very thing": ("06.ring", "def ring_allreduce(comm, x):\n    ring.allreduce(comm, x)"),
    "another algorithm": ("06.swap", SWAP.format("recursive_doubling.allreduce(comm, x)")),
    "its first half": (
        "06.reduce_scatter",
        "def ring_reduce_scatter(comm, x):\n    ring.reduce_scatter(comm, x)",
    ),
    "imported in it": (
        "06.swap",
        SWAP.format("from ddl_teach.collectives import linear as way\n    way.allreduce(comm, x)"),
    ),
    "imported whole": (
        "06.swap",
        SWAP.format("import ddl_teach.collectives.tree as way\n    way.allreduce(comm, x)"),
    ),
    "imported beside it": (
        "06.swap",
        "from ddl_teach.collectives.ring import allreduce\n" + SWAP.format("allreduce(comm, x)"),
    ),
    "by a helper": (
        "06.swap",
        "def helper(comm, x):\n    linear.allreduce(comm, x)\n" + SWAP.format("helper(comm, x)"),
    ),
    "by a class": (
        "06.swap",
        "class Sum:\n    def up(self, comm, x):\n        linear.allreduce(comm, x)\n"
        + SWAP.format("Sum().up(comm, x)"),
    ),
    "by another name": (
        "06.swap", "way = linear.allreduce\n" + SWAP.format("way(comm, x)")
    ),
    "background": ("06.swap", SWAP.format("comm.background(print).wait()")),
    "shared memory": ("06.swap", SWAP.format("comm.shared_memory(8)")),
    "a window": ("06.swap", SWAP.format("comm.window(8)")),
    "a window of a group": ("06.swap", SWAP.format("comm.split(0).window(8)")),
}  # fmt: skip


@pytest.fixture(scope="module")
def refused(request, tmp_path_factory):
    """What `check` says in notebooks with these answers."""
    folder = tmp_path_factory.mktemp("learner")
    around = Desk06(folder).assignment.handed_out[0].replace("engines = Engines(4)", "")
    notebooks = {
        case: [around, answer, f'check("{exercise}", {re.findall(FUNCTION, answer)[-1]})']
        for case, (exercise, answer) in REFUSED.items()
        if case in chosen(request, "case")
    }
    return run_all(notebooks, folder)


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.sampled(6)
def test_grading_and_check_refuse_with_the_same_words(desk, nursery, refused, case):
    exercise, answer = REFUSED[case]
    score = desk.score(nursery, exercise, desk.answers(exercise, answer))
    assert score.points == 0
    assert "it calls " in score.message
    assert refused[case].split("\n\nStuck?")[0] == f"CheckFailed: {score.message}"


CHEATS = {
    "a name that was lent": (SWAP.format("doubling.allreduce(comm, x)"), "'doubling' is not defi"),
    "a loader": (
        SWAP.format("import importlib\n    importlib.import_module('ddl_teach.collectives.ring')"
                    ".allreduce(comm, x)"),
        "it calls ddl_teach.collectives.ring.allreduce",
    ),
    "formulas": (
        SWAP.format("from ddl_teach.theory.crossover import crossovers\n    crossovers(1)"),
        "it calls ddl_teach.theory.crossover.crossovers",
    ),
    "the grader's own verb": (
        SWAP.format("comm.library('ddl_teach.collectives.ring.allreduce', x)"),
        "a function of the library that it may not use",
    ),
    "the grader's own verb, of a text": (
        SWAP.format(
            "comm._grader.ask('library', 'ddl_class.notebook.by_hand.staged', 'x', 'sum')"
        ),
        "a function of the library that it may not use",
    ),
    "the finder's list": (
        SWAP.format("import sys\n    sys.meta_path[0]._allowed.append('linear.allreduce')\n"
                    "    linear.allreduce(comm, x)"),
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHEATS)
@pytest.mark.sampled(3)
def test_a_cheat_earns_nothing(desk, nursery, case):
    answer, told = CHEATS[case]
    score = desk.score(nursery, "06.swap", desk.answers("06.swap", answer))
    assert score.points == 0
    assert told in score.message


LOOKING = """
import importlib, inspect, os
from ddl_class import check, definition
definition("gossip", anyway=True)

def attempt(act, *words):
    try:
        return act(*words)
    except Exception:
        return None

def program(comm, folder, names):
    found = [attempt(os.listdir, folder)]
    for name in names:
        module = importlib.import_module(f"ddl_teach.plain.{name}")
        found += [attempt(open, f"{folder}/{name}.py"), attempt(inspect.getsource, module)]
        found.append(attempt(lambda: module.train(comm)))
    return [str(one) for one in found if one], str(type(definition("gossip", anyway=True)))
"""


def test_nothing_of_the_small_library_is_in_a_sandbox(stage):
    """Many of its files are an exercise's answer; what shows them in a notebook does nothing."""
    folder = Path(plain.__file__).parent
    names = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    outcome = stage(LOOKING).run(1, [(str(folder), names)])
    [(found, given)] = outcome.results
    assert found == []
    assert "Silent" in given


def test_nothing_in_a_sandbox_knows_a_solution(desk, nursery):
    answer = (
        SWAP.format("ring_allreduce(comm, x)  # ring.reduce_scatter, ring.allreduce")
        + """
import gc, linecache, sys
backwards = (repr(one)[::-1] for one in gc.get_objects())  # or it would find itself
found = [text[::-1] for text in backwards if "fo noitulos eht" in text]
print(len(linecache.cache), found)
print(linecache.cache)
"""
    )
    score = desk.score(nursery, "06.swap", desk.answers("06.swap", answer))
    assert " []\n" in score.printed
    assert "the answer to 06.swap" in score.printed
    assert "the solution of the instructor" not in score.printed
    assert "it calls ring_allreduce, which is not written yet" in score.message


@dataclass
class Failure:
    """An answer with cells above it, and what its learner is told."""

    answer: str
    above: list[str]
    told: tuple[str, ...]


FAILURES = {
    "a constant that could not be made": Failure(
        SWAP.format("x += table"),
        ["\ntable = np.load('table.npy')"],
        ("NameError: name 'table' is not defined: line 2 of code cell 6", "FileNotFoundError"),
    ),
    "a helper that fails": Failure(
        SWAP.format("helper(x)"),
        ["# a comment\ndef helper(x):\n    !ls \\\n   -l\n    x[len(x)] = 1"],
        ('File "code cell 6", line 5, in helper', "x[len(x)] = 1", "IndexError"),
    ),
    "a line after a command of several": Failure(
        "!ls \\\n  -l\n" + SWAP.format("1 / 0"), [], ('"the answer to 06.swap", line 4',)
    ),
    "no function": Failure("int('x')", [], ("your cell raised ValueError", "line 1")),
    "no Python": Failure("x = 1\ndef f(:", [], ("SyntaxError", "line 2")),
}


@pytest.mark.parametrize("case", FAILURES)
@pytest.mark.sampled(3)
def test_a_failure_names_the_line_in_the_learners_cell(desk, nursery, case):
    one = FAILURES[case]
    score = desk.score(nursery, "06.swap", desk.answers("06.swap", one.answer, one.above))
    assert score.points == 0
    for text in one.told:
        assert text in score.message


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.sampled(3)
def test_the_library_runs_for_an_answer_as_it_runs_anywhere(nursery, ranks, dtype):
    program = """
from ddl_teach.collectives import ring
def program(comm, x):
    y = x.copy()
    mine = ring.reduce_scatter(comm, x)
    ring.allreduce(comm, y, "max")
    assert mine.size == 0 or np.shares_memory(mine, x)
    half, z = comm.split(comm.rank % 2), x.copy()
    ring.allgather(half, z)
    return mine, y, z
import numpy as np
"""
    rng = np.random.default_rng(ranks)
    given = [(rng.integers(-9, 9, 13).astype(dtype),) for _ in range(ranks)]
    allowed = ["ring.reduce_scatter", "ring.allreduce", "ring.allgather"]
    with UntrustedStage(nursery, [("cell", program)], "program", library=allowed) as stage:
        outcome = stage.run(ranks, given)

    def here(comm):
        x, y = given[comm.rank][0].copy(), given[comm.rank][0].copy()
        mine = ring.reduce_scatter(comm, x)
        ring.allreduce(comm, y, "max")
        half, z = comm.split(comm.rank % 2), x.copy()
        ring.allgather(half, z)
        return mine, y, z

    run = simulate(here, ranks)
    for found, right in zip(outcome.results, run.results, strict=True):
        assert all(np.array_equal(*both) for both in zip(found, right, strict=True))
    assert outcome.ledger == run.ledger
