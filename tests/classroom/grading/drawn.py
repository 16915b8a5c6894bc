"""Odd but honest notebooks, drawn: a ring all-reduce and what learners have around it.

Each is a choice of an answer, of how the cells are called, and of cells and lines that do no harm.
It says whether the answer is right.
"""

import json

import numpy as np
from notebook_cells import RING

SOURCE = '''\
# %%
import numpy as np

from ddl_teach.collectives import ring
from ddl_class import Engines, animate, check, judge, yours

# %% name="06.ring" tags=["answer"]
def ring_allreduce(comm, x):
    """Sum x over all ranks, in place, along a ring."""
    ### BEGIN SOLUTION
    ring.allreduce(comm, x)
    ### END SOLUTION

# %% name="06.ring" tags=["check"]
check("06.ring", ring_allreduce)
### BEGIN HIDDEN TESTS
judge("06.ring", ring_allreduce, ranks=(1, 3), seed=20_300)
### END HIDDEN TESTS
'''
BODY = RING.removeprefix("import numpy as np\n\n\n")
RIGHT = "(comm.rank + 1) % comm.size, ("


def by(call):
    """The ring, in which something else says who is on the right."""
    return BODY.replace(RIGHT, f"{call}, (", 1)


# Answers, with the cells above them, and whether they are right.
ANSWERS = {
    "plain": (BODY, [], True),
    "helper": (
        by("after(comm)"), ["def after(comm):\n    return (comm.rank + 1) % comm.size"], True
    ),
    "helpers": (
        by("after(comm)"),
        ["def after(comm):\n    return step(comm.rank, comm.size)",
         "def step(rank, size):\n    return (rank + 1) % size"],
        True,
    ),
    "lambda": (by("after(comm)"), ["after = lambda comm: (comm.rank + 1) % comm.size"], True),
    "partial": (
        by("after(comm.rank, comm.size)"),
        ["from functools import partial",
         "def step(by, rank, size):\n    return (rank + by) % size", "after = partial(step, 1)"],
        True,
    ),
    "class": (
        by("Place(comm.rank).after(comm.size)"),
        ["from dataclasses import dataclass", "@dataclass\nclass Place:\n    rank: int\n"
         "    def after(self, size: int) -> int:\n        return (self.rank + 1) % size"],
        True,
    ),
    "method put on": (
        by("Place().after(comm)"),
        ["class Place:\n    pass",
         "def after(self, comm):\n    return (comm.rank + 1) % comm.size", "Place.after = after"],
        True,
    ),
    "table": (
        by("(comm.rank + TABLE['by']) % comm.size"),
        ["TABLE = {}", "TABLE.update(by=1)\nprint(TABLE)"],
        True,
    ),
    "filled in a loop": (
        by("(comm.rank + STEPS[0]) % comm.size"),
        ["STEPS = []\nfor n in (1, 2):\n    STEPS.append(n)"],
        True,
    ),
    "filled beside the answer": (
        "TABLE['by'] = 1\n" + by("(comm.rank + TABLE['by']) % comm.size"), ["TABLE = {}"], True
    ),
    "replaced by itself": (
        by("after(comm)"),
        ["def after(comm):\n    return comm.rank + 1",
         "def inside(function):\n    return lambda comm: function(comm) % comm.size",
         "after = inside(after)"],
        True,
    ),
    "kept between calls": (
        by("after(comm)"),
        ["KEPT = {}\ndef after(comm):\n"
         "    return KEPT.setdefault((comm.rank, comm.size), (comm.rank + 1) % comm.size)"],
        True,
    ),
    "scratch of its own": (
        BODY.replace("np.empty_like(chunks[theirs])", "scratch(chunks[theirs])"),
        ["ROOM = np.empty(10**5)\ndef scratch(like):\n"
         "    return ROOM[: like.size].astype(like.dtype, copy=False)"],
        True,
    ),
    "star": (
        by("mod(comm.rank + 1, comm.size)"), ["from operator import *"], True
    ),
    "hints of types": (
        "from __future__ import annotations\n"
        + BODY.replace("(comm, x)", "(comm: Comm, x: Vector[float]) -> None", 1), [], True
    ),
    "decorated": (
        "@timed\n" + BODY,
        ["import time, functools\ndef timed(function):\n    @functools.wraps(function)\n"
         "    def inner(*words):\n        begun = time.perf_counter()\n"
         "        value = function(*words)\n        print(time.perf_counter() - begun)\n"
         "        return value\n    return inner"],
        True,
    ),
    "if and try": (
        "try:\n    import cupy as xp\nexcept ImportError:\n    import numpy as xp\nif xp is np:\n"
        + "".join(f"    {line}\n" for line in BODY.replace("np.empty", "xp.empty").splitlines())
        + "ring_allreduce = ring_allreduce",
        [],
        True,
    ),
    "assigned with a type": (
        BODY.replace("ring_allreduce", "my_ring") + "\nring_allreduce: object = my_ring", [], True
    ),
    "inside of a with": (
        "from contextlib import suppress\nwith suppress(KeyError):\n"
        + "".join(f"    {line}\n" for line in BODY.splitlines()),
        [],
        True,
    ),
    "two drafts": (BODY, ["def ring_allreduce(comm, x):\n    return draft(x)"], True),
    "nothing": ("def ring_allreduce(comm, x):\n    pass", [], False),
    "half": (BODY.rpartition("    for step")[0], [], False),
    "one step less": (BODY.replace("size - 1)", "size - LESS)", 1), ["LESS = 2"], False),
    "the library": ("def ring_allreduce(comm, x):\n    ring.allreduce(comm, x)", [], False),
    "the library, by another name": (
        "def ring_allreduce(comm, x):\n    way(comm, x)",
        ["from ddl_teach.collectives import recursive_doubling",
         "way = recursive_doubling.allreduce"],
        False,
    ),
    "the library, after yours": (
        "def ring_allreduce(comm, x):\n    first(comm, x)",
        ["first = yours('06.ring', lambda comm, x: None, ring.allreduce)"],
        False,
    ),
    "a closed verb": (BODY + "    comm.window(8)\n", [], False),
    "a module beside the notebook": (
        by("after(comm)"),
        ["from pathlib import Path",
         "Path('beside.py').write_text('def after(comm): return (comm.rank + 1) % comm.size')",
         "from beside import after"],
        False,
    ),
    "a file beside the notebook": (
        by("(comm.rank + int(ONE[0])) % comm.size"),
        ["np.save('one.npy', np.ones(1))", "ONE = np.load('one.npy')"],
        False,
    ),
    "what ranks share in one process only": (
        "SEEN = {}\ndef ring_allreduce(comm, x):\n    SEEN[comm.rank] = x.copy()\n"
        "    comm.barrier()\n    x[:] = sum(SEEN[rank] for rank in range(comm.size))",
        [],
        False,
    ),
    "no such name": (BODY.replace("np.", "nq."), [], False),
    "returns what cannot be looked at": (BODY + "    return iter([x])\n", [], False),
}  # fmt: skip
LINES = (
    "%matplotlib inline", "display(x)", "%timeit -n 1 -r 1 sum([1])", "print(no_such_name)",
    "ring_allreduce?", "files = !ls", "1 / 0", "import asyncio\nawait asyncio.sleep(0)",
    "engines = Engines(4) if False else None", "np.random.seed(3)", "# ring.allreduce(comm, x)?",
    "NOTE = '''\n%magic\n!with.halo\n'''", "assert 1 == 1, 'one'", "from os import path as x",
)  # fmt: skip
CELLS = (
    "%%time\nfor n in range(3):\n    print(n)", "%%bash\nfor i in *; do echo $i; done",
    "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nplt.show()",
    "def unfinished(:", "engines.run(ring_allreduce, x=np.ones(3))", "%%px\nprint(comm.rank)",
    "from ddl_class.plots import course", "x = np.arange(3)\nx", "%lsmagic",
    "class Odd:\n    def __repr__(self):\n        raise ValueError\nOdd()",
    "from ddl_teach import simulate\nsimulate(ring.allreduce, 2, x=np.ones(3)).timeline",
)  # fmt: skip
NAMES = (
    "as handed out",
    "ids are lost",
    "another name",
    "in a cell of its own",
    "a broken draft below",
)


def draw(number):
    """The cells of a notebook, each with what the file says of it, and whether it is right."""
    rng = np.random.default_rng(number)
    source, above, right = ANSWERS[list(ANSWERS)[number % len(ANSWERS)]]
    above = [*above]
    for cell in rng.choice(CELLS, 2, replace=False):
        above.insert(rng.integers(len(above) + 1), cell)
    source += "\n" + "\n".join(rng.choice(LINES, 2, replace=False))
    how = NAMES[rng.integers(len(NAMES))] if "draft" not in source else NAMES[0]
    return how, source, above, right


def notebook(released, how, source, above):
    """The released notebook as this learner hands it in."""
    cells = json.loads(json.dumps(released))["cells"]
    [answer] = [place for place, cell in enumerate(cells) if cell["id"] == "06-ring-answer"]
    own = [{"cell_type": "code", "source": text, "metadata": {}} for text in above]
    cells[answer]["source"], written = source, [cells[answer]]
    if how == "in a cell of its own":
        cells[answer]["source"] = "def ring_allreduce(comm, x):\n    raise NotImplementedError"
        written.append({"cell_type": "code", "source": source, "metadata": {}})
    cells[answer : answer + 1] = [*own, *written]
    if how == "a broken draft below":
        cells.append({"cell_type": "code", "source": "def ring_allreduce(comm): pass"})
    for cell in cells:
        if how == "ids are lost":
            cell.pop("id", None)
            cell["metadata"] = {}
        if how == "another name":
            cell["source"] = "".join(cell["source"]).replace("ring_allreduce", "my_ring")
    return {"cells": cells}
