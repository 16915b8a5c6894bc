"""What `check` says in a notebook and what grading gives for it is the same."""

import json
import re

import pytest
from cases import chosen
from drawn import ANSWERS, BODY, NAMES, SOURCE, draw, notebook
from run_notebooks import run_all

from ddl_class.grading.sandbox import Limits
from ddl_class.grading.scoring import score_answers
from ddl_class.grading.submission import read_answers, read_assignment
from ddl_class.release import release

pytestmark = pytest.mark.slow

DRAWN = range(len(ANSWERS))


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    source = tmp_path_factory.mktemp("source") / "06_drawn.py"
    source.write_text(SOURCE)
    return source, read_assignment(source)


@pytest.fixture(scope="module")
def notebooks(assignment, request):
    released = json.loads(release.text(release.learners(assignment[0])))
    return {number: notebook(released, *draw(number)[:3]) for number in chosen(request, "number")}


@pytest.fixture(scope="module")
def checked(notebooks, tmp_path_factory):
    """What the last check of each notebook said, in a kernel."""
    cells = {
        number: ["".join(cell["source"]) for cell in whole["cells"] if cell["cell_type"] == "code"]
        for number, whole in notebooks.items()
    }
    return run_all(cells, tmp_path_factory.mktemp("learner"))


@pytest.mark.parametrize("number", DRAWN)
@pytest.mark.sampled(18)
def test_check_and_grading_agree(assignment, notebooks, checked, nursery, number):
    raw = json.dumps(notebooks[number]).encode()
    answers, limits = read_answers(raw, assignment[1]), Limits(seconds=500)  # on a busy machine
    [score] = score_answers(nursery, assignment[1], answers, number, limits)
    right = draw(number)[-1]
    assert (checked[str(number)] == "") == right, checked[str(number)]
    assert (score.points == score.of) == right, score.message


FIRST = "import numpy as np\nfrom ddl_class import check"
STUB = "def ring_allreduce(comm, x):\n    raise NotImplementedError"
MINE = BODY.replace("ring_allreduce", "my_ring")
CHECK = 'check("06.ring", ring_allreduce)'
REFUSAL = re.compile(r"[\w.]+ is refused where exercises are graded")


def lines(*more):
    """An answer with these lines at its end."""
    return BODY.rstrip() + "".join(f"\n    {line}" for line in more)


# The cells of notebooks, the order in which they are run, and whether the answer is right.
KERNELS = {
    "in two lines": ([MINE, 'check(  "06.ring",\n    my_ring)'], (1, 2), True),
    "an f-string": ([MINE, 'unit = 6\ncheck(f"{unit:02}.ring", my_ring)'], (1, 2), False),
    "a variable": ([MINE, 'name = "06.ring"\ncheck(name, my_ring)'], (1, 2), False),
    "a loop": ([MINE, 'for name in ["06.ring"]:\n    check(name, my_ring)'], (1, 2), False),
    "an attribute": (
        [MINE, "class A:\n    r = my_ring", 'check("06.ring", A.r)'], (1, 2, 3), False
    ),
    "a function that is imported": (
        ["from operator import iadd as add", 'check("06.ring", add)'], (1, 2), False
    ),
    "a new process": (
        ["import subprocess\n" + lines('subprocess.run(["true"])'), CHECK], (1, 2), False
    ),
    "a shell": (["import os\n" + lines('os.system("true")'), CHECK], (1, 2), False),
    "a fork": (["import os\n" + lines("os.fork() or os._exit(0)"), CHECK], (1, 2), False),
    "a socket that is not used": (
        ["import socket\n" + lines("socket.socket()"), CHECK], (1, 2), False
    ),
    "a socket without its class": (
        ["import _socket\n" + lines("_socket.socket()"), CHECK], (1, 2), False
    ),
    "two ends of a socket": (
        ["import socket\n" + lines("for end in socket.socketpair():", "    end.close()"), CHECK],
        (1, 2), True,
    ),
    "a file's mode": (["import os\n" + lines('os.chmod(".", 0o700)'), CHECK], (1, 2), False),
    "a link": (["import os\n" + lines('os.symlink("f", "g")'), CHECK], (1, 2), False),
    "a file": ([lines('open("f", "w")'), CHECK], (1, 2), False),
    "a file that goes on": (
        ["import os\n" + lines('os.close(os.open("f", os.O_RDWR))'), CHECK], (1, 2), False
    ),
    "a file of numbers": ([lines('np.save("f", x)'), CHECK], (1, 2), False),
    "a file without a name": (
        ["import tempfile\n" + lines("tempfile.TemporaryFile()"), CHECK], (1, 2), False
    ),
    "a folder": (["import os\n" + lines('os.mkdir("f")'), CHECK], (1, 2), False),
    "what is written nowhere": (
        ["import os\n" + lines('open(os.devnull, "w").close()'), CHECK], (1, 2), True
    ),
    "a program of Python that is read": (
        ["import os\n" + lines("open(os.__file__).close()"), CHECK], (1, 2), True
    ),
    "a thread": (
        ["import threading\n" + lines("threading.Thread(target=print).start()"), CHECK],
        (1, 2), True,
    ),
    "made by a new process": (
        ["import os\nWAY = os.popen('echo 1').read()", lines("int(WAY)"), CHECK], (1, 2, 3), False
    ),
    "below its check, and not checked again": ([CHECK, BODY], (1, 2), False),
    "below its check, which is run again": ([CHECK, BODY], (1, 2, 1), True),
    "above, but run too late": ([CHECK, BODY, STUB], (2, 3, 1), False),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """What the last check of each of `KERNELS` said."""
    cells = {
        name: [FIRST, STUB, *[sources[place - 1] for place in order]]
        for name, (sources, order, _) in KERNELS.items()
    }
    return run_all(cells, tmp_path_factory.mktemp("learner"))


@pytest.mark.parametrize("name", KERNELS)
def test_check_and_grading_agree_on_these(assignment, kernels, nursery, name):
    sources, order, right = KERNELS[name]
    runs = {place: number for number, place in enumerate(order, start=3)}
    cells = [{"source": FIRST}, {"source": STUB, "id": "06-ring-answer", "execution_count": 2}]
    for place, source in enumerate(sources, start=1):
        cells.append({"source": source, "execution_count": runs[place]})
    raw = json.dumps({"cells": [{"cell_type": "code"} | cell for cell in cells]}).encode()
    answers, limits = read_answers(raw, assignment[1]), Limits(seconds=500)  # on a busy machine
    [score] = score_answers(nursery, assignment[1], answers, 1, limits)
    assert (kernels[name] == "") == right, kernels[name]
    assert (score.points == score.of) == right, score.message
    assert REFUSAL.findall(kernels[name]) == REFUSAL.findall(score.message)


def test_every_kind_of_notebook_is_drawn():
    assert {draw(number)[0] for number in DRAWN} == {*NAMES}
    assert {draw(number)[-1] for number in DRAWN} == {True, False}
