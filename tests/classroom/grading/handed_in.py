"""Notebooks as they are handed in: honest ones, and files that are none."""

import copy
import json
import os
from contextlib import suppress

import psutil
from notebook_cells import RING

import ddl_teach
from ddl_class.release import release

SOURCE = '''\
# %% [markdown]
# # Two exercises

# %%
import numpy as np

from ddl_class import Engines, check, judge

engines = Engines(4)

# %% name="06.ring" tags=["answer"]
def ring_allreduce(comm, x):
    """Sum x over all ranks, in place, along a ring."""
    ### BEGIN SOLUTION
    raise RuntimeError("the solution of the instructor")
    ### END SOLUTION

# %% name="06.ring" tags=["check"]
judge("06.ring", ring_allreduce, ranks=(3,))
### BEGIN HIDDEN TESTS
judge("06.ring", ring_allreduce, ranks=(1, 4), seed=20_300)
### END HIDDEN TESTS

# %% name="06.crossover" tags=["answer"]
def crossover(ranks, latency, bandwidth):
    """The size in bytes from which on the ring wins."""
    ### BEGIN SOLUTION
    raise RuntimeError("the solution of the instructor")
    ### END SOLUTION

# %% name="06.crossover" tags=["check"]
check("06.crossover", crossover)
'''

CROSSOVER = """\
import math


def crossover(ranks, latency, bandwidth):
    steps = math.log2(ranks)
    saved = (steps - 2 * (ranks - 1) / ranks) / bandwidth
    return latency * (2 * (ranks - 1) - steps) / saved if saved > 0 else math.inf
"""

STUB = "def {}(*_):\n    raise NotImplementedError\n"
RING_STUB, CROSSOVER_STUB = STUB.format("ring_allreduce"), STUB.format("crossover")
# What others write, and whether ring and crossover are right.
HONEST = {
    "both right": (RING, CROSSOVER, (True, True)),
    "nothing done": (RING_STUB, CROSSOVER_STUB, (False, False)),
    "only the ring": (RING, CROSSOVER_STUB, (True, False)),
    "only the crossover": (RING_STUB, CROSSOVER, (False, True)),
    "does nothing": ("def ring_allreduce(comm, x):\n    pass", CROSSOVER, (False, True)),
    "to the left": (
        RING.replace("comm.rank + 1) %", "comm.rank - 1) %", 1),
        CROSSOVER,
        (False, True),
    ),
    "half the way": (
        RING.split("    for step in range(comm.size - 1):\n        comm.")[0].rsplit("    for", 1)[
            0
        ],
        CROSSOVER,
        (False, True),
    ),
    "everything to everybody": (
        "import numpy as np\ndef ring_allreduce(comm, x):\n    mine = x.copy()\n"
        "    requests = [comm.isend(mine, to) for to in range(comm.size) if to != comm.rank]\n"
        "    for source in range(comm.size):\n        if source != comm.rank:\n"
        "            y = np.empty_like(x)\n            comm.recv(y, source)\n            x += y\n"
        "    for request in requests:\n        request.wait()\n",
        CROSSOVER.replace("math.inf", "0"),
        (False, False),
    ),
    "does not compile": ("def ring_allreduce(comm, x)\n    pass", CROSSOVER, (False, True)),
    "latency forgotten": (RING, CROSSOVER.replace("latency * ", ""), (True, False)),
}


class Desk:
    """Where a source lies and notebooks are handed in."""

    def __init__(self, folder):
        self.source = folder / "teachers" / "06_two.py"
        self.submissions = folder / "submitted"
        self.out = folder / "grades"
        self.marks = folder / "marks"
        for place in (self.source.parent, self.submissions, self.marks):
            place.mkdir(parents=True)
            place.chmod(0o777)  # whoever gets out of a sandbox shall be able to leave a mark
        self.source.write_text(SOURCE)
        self._released = json.loads(release.text(release.learners(self.source)))

    def places(self, port=9):
        """What attacks aim at, with a port that this machine has or has not."""
        return {
            "source": self.source,
            "submissions": self.submissions,
            "out": self.out,
            "marks": self.marks,
            "home": os.path.expanduser("~"),
            "package": os.path.dirname(ddl_teach.__file__),
            "grader": os.getpid(),
            "port": port,
        }

    def notebook(self, ring=RING, crossover=CROSSOVER):
        """A notebook with these answers, as plain data."""
        notebook = copy.deepcopy(self._released)
        for cell in notebook["cells"]:
            answer = {"06-ring-answer": ring, "06-crossover-answer": crossover}.get(cell["id"])
            cell["source"] = cell["source"] if answer is None else answer
        return notebook

    def hand_in(self, student, notebook):
        """Put a notebook, or any bytes, where submissions are."""
        raw = notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode()
        (self.submissions / f"{student}.ipynb").write_bytes(raw)


def odd_files(desk):
    """Hand in files that are no proper notebooks; returns who earns what, and is told what."""
    earned = {}

    def expect(student, ring, crossover, told=""):
        earned[student] = (ring, crossover, told)

    def hand_in(student, notebook, *expected):
        desk.hand_in(student, notebook)
        expect(student, *expected)

    for student, raw in {
        "empty": b"",
        "text": b"print('hello')",
        "list": b"[1, 2]",
        "number": b"7",
        "no-cells": b'{"cells": 3}',
        "odd-cells": b'{"cells": [1, {}, {"cell_type": "code", "metadata": "x", "source": "y"}]}',
        "deep": b"[" * 200_000,
        "bytes": bytes(range(256)),
    }.items():
        hand_in(student, raw, False, False, "not a notebook")
    hand_in("enormous", b" " * (10 * 2**20 + 1), False, False, "bytes, .* are allowed")
    os.symlink(desk.source, desk.submissions / "link.ipynb")
    expect("link", False, False, "symbolic link")
    os.mkfifo(desk.submissions / "pipe.ipynb")
    expect("pipe", False, False, "no file")
    (desk.submissions / "folder.ipynb").mkdir()
    expect("folder", False, False, "no file")
    os.symlink(desk.source.parent, desk.submissions / "linked-folder")
    expect("linked-folder", False, False, "symbolic link")
    (desk.submissions / "two").mkdir()
    for name in ("a", "b"):
        (desk.submissions / "two" / f"{name}.ipynb").write_text(json.dumps(desk.notebook()))
    expect("two", False, False, "2 notebooks and none")

    hand_in("no-check", _without(desk.notebook(RING_STUB), "check"), False, True)
    hand_in("no-answer", _without(desk.notebook(), "ring-answer"), False, True, "no answer cell")
    hand_in("own-check", _with_check(desk.notebook(RING_STUB)), False, True, "not written yet")
    nameless = desk.notebook()
    for cell in nameless["cells"]:
        cell.pop("id")
        cell["metadata"] = {}
    hand_in("nameless", nameless, True, True)
    doubled = desk.notebook(RING_STUB)
    doubled["cells"] += desk.notebook()["cells"]
    hand_in("doubled", doubled, True, True)
    halves = json.dumps(desk.notebook("'\ud800\\0'\n" + RING)).encode()
    hand_in("half-characters", halves, True, True)
    hand_in("zero", desk.notebook("\0" + RING), False, True, "null bytes|SyntaxError|ValueError")
    hand_in("long", desk.notebook(RING + "#" * 200_000), False, False, "characters")
    return earned


def _without(notebook, what):
    notebook["cells"] = [cell for cell in notebook["cells"] if what not in cell["id"]]
    return notebook


def _with_check(notebook):
    """Its own test, its own points, and the marks of a test on every cell."""
    for cell in notebook["cells"]:
        if "check" in cell["id"]:
            cell["source"] = "pass"
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "right"}]
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"] |= {"points": 1000, "grade": True, "locked": False}
    return notebook


def sandboxes_of(grader):
    """Its fork server and ranks; what packages start while they are imported is none of them."""
    family = []
    for process in psutil.Process(grader.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any("inside/start.py" in word for word in process.cmdline()):
                family.append(process)
    return family
