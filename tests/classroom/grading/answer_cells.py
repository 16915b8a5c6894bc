"""A notebook of unit 06 in short, and right answers with much beside them."""

from notebook_cells import RING

SOURCE = """\
# %%
import numpy as np

from ddl_teach import launch, simulate
from ddl_teach.collectives import linear, recursive_doubling, ring
from ddl_runtime.core.arrays import split_evenly
from ddl_class import Engines, animate, check, judge, yours

engines = Engines(4)

# %% name="06.reduce_scatter" tags=["answer"]
def ring_reduce_scatter(comm, x):
    ### BEGIN SOLUTION
    SECRET = "the solution of the instructor"
    ### END SOLUTION

# %% name="06.reduce_scatter" tags=["check"]
check("06.reduce_scatter", ring_reduce_scatter)

# %% name="06.ring" tags=["answer"]
def ring_allreduce(comm, x):
    ### BEGIN SOLUTION
    SECRET = "the solution of the instructor"
    ### END SOLUTION

# %% name="06.ring" tags=["check"]
judge("06.ring", ring_allreduce, ranks=(1, 3))

# %% name="06.swap" tags=["answer"]
def swap_allreduce(comm, x):
    ### BEGIN SOLUTION
    SECRET = "the solution of the instructor"
    ### END SOLUTION

# %% name="06.swap" tags=["check"]
judge("06.swap", swap_allreduce, ranks=(1, 4))

# %% name="06.recursive_doubling" tags=["answer"]
def doubling_allreduce(comm, x):
    ### BEGIN SOLUTION
    SECRET = "the solution of the instructor"
    distance = 1
    while distance < comm.size:
        arriving = np.empty_like(x)
        comm.sendrecv(x, comm.rank ^ distance, arriving, comm.rank ^ distance)
        x += arriving
        distance *= 2
    ### END SOLUTION

# %% name="06.recursive_doubling" tags=["check"]
judge("06.recursive_doubling", doubling_allreduce, ranks=(2,))

# %% name="09.with_halo" tags=["answer"]
def with_halo(comm, x):
    ### BEGIN SOLUTION
    SECRET = "the solution of the instructor"
    ### END SOLUTION

# %% name="09.with_halo" tags=["check"]
check("09.with_halo", with_halo)

# %%
def below(comm):
    return comm.rank
"""
HANDS_OUT = """\
def ring_allreduce(comm, x):
    {}(comm, x)
    right, left, chunks = comm.rank + 1, comm.rank - 1, split_evenly(x, comm.size)
    for step in range(comm.size - 1):
        out, into = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        comm.sendrecv(chunks[out], right % comm.size, chunks[into], left % comm.size)
"""
SCATTER = """\
def ring_reduce_scatter(comm, x):
    chunks = split_evenly(x, comm.size)
    for step in range(1, comm.size):
        out, into = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        arriving = np.empty_like(chunks[into])
        comm.sendrecv(
            chunks[out], (comm.rank + 1) % comm.size, arriving, (comm.rank - 1) % comm.size
        )
        chunks[into] += arriving
"""
NO_NUMPY = RING.removeprefix("import numpy as np\n")
ONE = NO_NUMPY.replace("step in range(comm.size - 1)", "step in range(comm.size - ONE)")
RIGHT_OF = RING.replace("(comm.rank + 1) % comm.size, ", "right_of(comm), ", 1)
MINE = RING.replace("def ring_allreduce", "def mine")
HELPER = "def right_of(comm):\n    return (comm.rank + 1) % comm.size"
# Each right answer, with cells of its own above the answer's or below it.
HONEST = {
    "display": (f"{RING}\ndisplay(ring_allreduce)", [], []),
    "help": (f"{RING}\nring_allreduce?", [], []),
    "magic": (f"%matplotlib inline\n{RING}\n%timeit -n 1 ring_allreduce", [], []),
    "cell magic": (f"%%time\n{RING}", [], []),
    "shell": (f"{RING}\nfiles = !ls\n!nproc", [], []),
    "await": (f"{RING}\nimport asyncio\nawait asyncio.sleep(0)", [], []),
    "await of nobody": (f"{RING}\nawait engines.client", [], []),
    "engines": (f"{RING}\nengines.run(ring_allreduce, x=np.ones(3))", [], []),
    "launch": (f"{RING}\nlaunch(ring_allreduce, 2, x=np.ones(3)).results", [], []),
    "timeline": (f"{RING}\nsimulate(ring_allreduce, 2, x=np.ones(3)).timeline.plot()", [], []),
    "timeline of the library": (f"{RING}\nsimulate(ring.allreduce, 2, x=np.ones(3))", [], []),
    "file": (f"{RING}\nnp.save('x.npy', np.ones(3))", [], []),
    "picture": (
        f"{RING}\nimport matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1])",
        [],
        [],
    ),
    "print": (f"{RING}\nprint(ring_allreduce)\nprint(no_such_name)", [], []),
    "check": (f"{RING}\ncheck('06.ring', ring_allreduce)\nanimate(ring_allreduce)", [], []),
    "a comment": (f"# compare with.halo, linear.allreduce, ring.allreduce?\n{RING}", [], []),
    "a text": (f"{RING}\nNOTE = '''\n%magic\n!with.halo ring.allreduce(comm, x)?\n'''", [], []),
    "future": (f"from __future__ import annotations\n{RING}\ndef f(x: Unknown): ...", [], []),
    "constant": (ONE, ["ONE = 1"], []),
    "computed constant": (ONE, ["ONES = np.ones(3)", "ONE = int(ONES[0])"], []),
    "a constant of an odd cell": (ONE, ["%%time\n!ls\nONE = 1\ndisplay(ONE)"], []),
    "a table that is filled": (
        ONE.replace("- ONE", "- TABLE[1]"), ["TABLE = {}\nTABLE[1] = 1\nprint(TABLE)"], []
    ),
    "helper": (RIGHT_OF, [HELPER], []),
    "helper below": (RIGHT_OF, [], [HELPER]),
    "helper of a helper": (
        RIGHT_OF,
        ["def after(r, n):\n    return (r + 1) % n",
         "def right_of(comm):\n    return after(comm.rank, comm.size)"],
        [],
    ),
    "imported helper": (
        RIGHT_OF, ["import math as m", "from operator import *", "def right_of(comm):\n"
        "    return mod(m.ceil(comm.rank + 0.5), comm.size)"], []
    ),
    "class": (
        RIGHT_OF.replace("right_of(comm)", "Place(comm.rank).right(comm.size)"),
        ["from dataclasses import dataclass",
         "@dataclass\nclass Place:\n    rank: int\n    def right(self, size):\n"
         "        return (self.rank + 1) % size"],
        [],
    ),
    "the function in a cell of its own": ("# see above", [RING], []),
    "one of two names": ("# see above", [f"{MINE}\nspare, ring_allreduce = 1, mine"], []),
    "the last of a loop": ("# see above", [f"{MINE}\nfor ring_allreduce in len, mine: ..."], []),
    "a draft above": (RING, ["def ring_allreduce(comm, x):\n    pass"], []),
    "a cell that is no Python": (ONE, ["ONE = 1", "%%bash\nfor i in *; do echo $i; done"], []),
    "the instructor's, lost": (NO_NUMPY, [], []),
    "own first half": (HANDS_OUT.format("ring_reduce_scatter"), [SCATTER], []),
    "own first half by yours": (
        HANDS_OUT.format("first"),
        [SCATTER, "first = yours('06.reduce_scatter', ring_reduce_scatter, ring.reduce_scatter)"],
        [],
    ),
    "the library's first half": (HANDS_OUT.format("ring.reduce_scatter"), [], []),
    "imported first half": (
        "from ddl_teach.collectives.ring import reduce_scatter\n"
        + HANDS_OUT.format("reduce_scatter"),
        [],
        [],
    ),
}  # fmt: skip
