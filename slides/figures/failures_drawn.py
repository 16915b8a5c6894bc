"""Diagrams of what goes wrong on nodes: a site's notes, the doctor's list, deaths, checkpoints."""

from __future__ import annotations

import re
import tempfile
from functools import partial
from textwrap import fill

import numpy as np

from ddl_class.clusters import node_checks
from ddl_class.clusters.grounds import NOTES, SETUP
from ddl_class.clusters.node_checks import MESSAGES, NBYTES
from ddl_class.doctor.finding import CheckResult
from ddl_class.plots.svg import Drawing
from ddl_teach import Comm, simulate
from ddl_teach.collectives import ring
from ddl_teach.comm import DiagnosedError
from ddl_teach.fault_tolerance.progress import TrainingPlan
from ddl_teach.fault_tolerance.restarting import resume
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from slides.figures.jobs_drawn import GOLD, GREEN, RED
from slides.figures.sketch import INK, PALE, QUIET, STRONG, WARM, WIDTH, Sketch, tint

BROWN = "#8a3a00"
DYING, DIES_IN = 2, 3  # the rank that raises, and in which step
RANKS, STEPS, EVERY, CRASH = 4, 10, 3, 8  # of the training that is saved
KINDS = {  # the names in site.sh, by what they are for
    "what Slurm asks": "PARTITION ACCOUNT QOS RESERVATION CONSTRAINT GRES TIME GPUS",
    "programs": "MODULES MODULEFILE PYTHON",
    "what starts ranks": "MPI",
    "network between nodes": "INTERFACE",
    "engines of notebooks": "ENGINES PERNODE WAIT HOSTFILE",
}


def site() -> Drawing:
    """The names in the notes of a site, by what they are for, and what reads them."""
    names = re.findall(r"^SITE_(\w+)=", NOTES.read_text(), re.MULTILINE)
    kinds = {kind: words.split() for kind, words in KINDS.items()}
    assert sorted(names) == sorted(name for of in kinds.values() for name in of)
    readers = {
        "batch scripts": SETUP / "slurm" / "begin.sh",
        "options of jobs": SETUP / "slurm" / "options.sh",
        "JupyterHub": SETUP / "jupyterhub" / "jupyterhub_config.py",
        "launchers, doctor": SETUP.parent / "ddl_class" / "clusters" / "grounds.py",
    }
    assert all("site.sh" in path.read_text() for path in readers.values())
    sketch = Sketch("site.sh has " + "; ".join(
        f"{kind}: {', '.join(of)}" for kind, of in kinds.items()
    ) + f". It is read by {', '.join(readers)}")  # fmt: skip
    sketch.box(0, 0, 780, 500, fill="#f7f6fb", edge=STRONG)
    sketch.words(390, 32, "site.sh: filled in once", 27, bold=True, colour=STRONG)
    for row, (kind, of) in enumerate(kinds.items()):
        y, marked = 66 + 86 * row, kind == "what starts ranks"
        colour = BROWN if marked else STRONG
        sketch.box(14, y, 752, 78, fill=tint(WARM if marked else STRONG, 0.12))
        sketch.words(30, y + 39, fill(kind, 14), 22, "start", colour, True)
        sketch.words(235, y + 39, fill(" ".join(of), 36), 22, "start")
    for row, reader in enumerate(readers):
        y = 20 + 122 * row
        sketch.arrow((785, 250), (866, y + 45), QUIET, 4)
        sketch.box(870, y, 280, 90, reader, GREEN, 25, bold=True)
    return sketch.drawing


def planted_troubles() -> list[CheckResult]:
    """What the doctor of nodes finds where three things were made wrong."""
    said = {"python": "3.11.9 at /shared/course/.venv/bin/python", "packages": {}, "gpus": []}
    names = {"n1": "127.0.1.1", "n2": "10.0.0.2"}
    nodes = {"n1": said | {"addresses": names}, "n2": said | {"addresses": {}}}
    rank = {"node": "n1", "ahead": 0.0, "bound": 1e-4, "sent": {"eth0": MESSAGES * NBYTES}}
    two = [rank, rank | {"node": "n2", "ahead": 4.0}]
    return [
        node_checks.names(tuple(nodes), node_checks.NodeAnswers(nodes, {}, "mark", tuple(nodes))),
        node_checks.network(two, "ib0"),
        node_checks.clocks(two),
    ]


def doctor() -> Drawing:
    """Its list for these, with the beginning of how to mend each."""
    troubles = planted_troubles()
    sketch = Sketch("; ".join(f"{each.status}, {each.name}: {each.found}" for each in troubles))
    for row, each in enumerate(troubles):
        y, colour = 164 * row, RED if each.status == "fail" else GOLD
        sketch.box(0, y, WIDTH, 150, fill=tint(colour, 0.12))
        sketch.box(0, y, 220, 150, fill=colour)
        sketch.words(110, y + 50, each.status, 32, bold=True, colour=INK if row == 2 else "#fff")
        sketch.words(110, y + 100, each.name, 25, colour=INK if row == 2 else "#fff")
        sketch.words(244, y + 40, each.found, 27, "start", bold=True)
        mend = re.split(r"[;,:(]", each.mend)[0].strip()
        sketch.words(244, y + 100, fill(f"mend: {mend}", 62), 24, "start")
    return sketch.drawing


def dies(comm: Comm, done: list[list[int]]) -> None:
    """Steps of a training; in one of them the memory of a rank is full."""
    for step in range(STEPS):
        if comm.rank == DYING and step == DIES_IN:
            raise MemoryError("no room for 4 GiB")
        ring.allreduce(comm, np.full(100, float(step)))
        done[comm.rank].append(step)


def death() -> Drawing:
    """A rank raises: with MPI alone the others wait; here they are stopped, and told why."""
    done: list[list[int]] = [[] for _ in range(RANKS)]
    try:
        simulate(partial(dies, done=done), RANKS)
    except DiagnosedError as error:
        first = str(error).split("\n\n")[0]
    assert all(steps == list(range(DIES_IN)) for steps in done)
    sketch = Sketch(f"{first} in step {DIES_IN}; the others are stopped. With MPI alone they wait")
    for side, title in enumerate(("MPI alone", "the course's ranks")):
        left, colour = 590 * side, (RED, GREEN)[side]
        sketch.words(left + 280, 24, title, 27, bold=True, colour=colour)
        for rank in range(RANKS):
            y = 60 + 78 * rank
            sketch.rank(left + 34, y + 30, rank, 28)
            for step in range(DIES_IN + 1):
                x, last = left + 76 + 108 * step, step == DIES_IN
                wide = 156 if last else 100
                if not last:
                    words, fills = f"step {step}", PALE
                elif rank == DYING:
                    words, fills = ("raises, waits", "raises")[side], RED
                else:
                    words, fills = ("waits", "stopped")[side], ("#f6d5cf", tint(GREEN, 0.25))[side]
                sketch.box(x, y, wide, 60, words, fills, 22)
    sketch.words(280, 400, "for ever: the hours of the job", 25, colour=RED)
    sketch.box(0, 440, WIDTH, 60, first, "#2b2b2b", 26)
    sketch.words(870, 400, "all end, and the first error is shown", 25, colour=GREEN)
    return sketch.drawing


def saved() -> Drawing:
    """A training that is saved every few steps, ends with a rank's death, and begins again."""
    plan = TrainingPlan(Digits(hidden=4), SGD(0.1), STEPS, RANKS)
    runs: list[list[int]] = [[], []]

    def train(comm: Comm, folder: str, run: int) -> None:
        def before(_: Comm, step: int) -> None:
            if comm.rank == 0:
                runs[run].append(step)
            if run == 0 and comm.rank == DYING and step == CRASH:
                raise MemoryError

        resume(comm, plan, folder, EVERY, before=before)

    with tempfile.TemporaryDirectory() as folder:
        try:
            simulate(partial(train, folder=folder, run=0), RANKS)
        except DiagnosedError:
            simulate(partial(train, folder=folder, run=1), RANKS)
    again = [step for step in runs[1] if step in runs[0] and step < CRASH]
    sketch = Sketch(
        f"Saved every {EVERY} steps. A rank dies in step {CRASH}; the second run begins at step "
        f"{runs[1][0]} and does {len(again)} steps again"
    )
    for run, steps in enumerate(runs):
        y = 50 + 260 * run
        sketch.words(0, y + 40, ("first run", "second run")[run], 24, "start", STRONG, True)
        for step in steps:
            x, dead = 160 + 98 * step, run == 0 and step == CRASH
            fills = RED if dead else tint(WARM, 0.35) if run and step in again else PALE
            sketch.box(x, y, 90, 80, "dies" if dead else str(step), fills, 26, bold=dead)
        for end in range(steps[0] + EVERY, steps[-1] + 1, EVERY):
            sketch.box(160 + 98 * end - 14, y - 14, 20, 108, fill=GOLD)
    for step in range(EVERY, CRASH, EVERY):
        x = 160 + 98 * step
        sketch.words(x, 168, f"save {step}", 21, colour=INK)
    x = 160 + 98 * runs[1][0]
    sketch.arrow((x, 190), (x, 300), STRONG, 6)
    sketch.words(x - 18, 245, "the newest that all ranks can read", 24, "end", STRONG)
    sketch.words(160, 430, f"orange: {len(again)} steps that were lost and are done again", 25,
                 "start", BROWN)  # fmt: skip
    sketch.words(160, 475, f"gold: a checkpoint every {EVERY} steps", 25, "start", "#7a5a00")
    return sketch.drawing
