"""Grade an answer that looks around, with this Python's package: `look_around.py WALLS FOLDER`.

FOLDER is an empty one for the desk. Standard input holds, as json, which files the answer reads,
which folders it lists, which modules it imports, and an answer that borrows. Prints, as json, the
walls, what was got of each, with the files of modules, and what three answers earned.
"""

import json
import sys
from pathlib import Path

from handed_in import Desk
from notebook_cells import RING

import ddl_teach
from ddl_class.grading.sandbox import Limits, SandboxServer
from ddl_class.grading.scoring import UntrustedStage, score_answers
from ddl_class.grading.submission import Answers, read_assignment

PLACES = ("files", "folders", "modules")
LOOK = """
import importlib
import os
from pathlib import Path


def attempt(act, what):
    try:
        return act(what)
    except (OSError, ImportError):
        return None


def file_of(module):
    return getattr(importlib.import_module(module), "__file__", None)


def look(files, folders, modules):
    return (
        {one: attempt(lambda path: Path(path).read_text(), one) for one in files},
        {one: attempt(os.listdir, one) for one in folders},
        {one: attempt(file_of, one) for one in modules},
    )
"""


def main(walls, folder):
    task = json.load(sys.stdin)
    desk = Desk(Path(folder))
    assignment = read_assignment(desk.source)
    limits = Limits(seconds=120)
    with SandboxServer([desk.source.parent], walls) as nursery:
        with UntrustedStage(nursery, [("an answer", LOOK)], "look", limits) as stage:
            files, folders, modules = stage.call(*(task[what] for what in PLACES))
        earned = {}
        for name, source in {"right": RING, "borrows": task["borrows"], "nothing": ""}.items():
            answers = Answers({"06.ring": source})
            ring, _ = score_answers(nursery, assignment, answers, 1, limits)
            earned[name] = ring.points, ring.message
    told = {"walls": nursery.walls, "package": ddl_teach.__file__, "earned": earned}
    json.dump(told | {"files": files, "folders": folders, "modules": modules}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
