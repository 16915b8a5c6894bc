"""Run attacks in one kind of sandbox as one kind of user: `attack_alone.py WALLS USER DESK`.

Prints what each earned, as json. A USER other than 0 is who root becomes first; he can read the
Python that runs this also where it lies in a folder of root's own.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from attacks import FORGING, SNOOPING
from handed_in import Desk
from harm import HARMING

import ddl_teach
from ddl_class.grading.inside import kernel
from ddl_class.grading.sandbox import Limits, SandboxServer
from ddl_class.grading.scoring import score_answers
from ddl_class.grading.submission import Answers, read_assignment

WALLED = (
    "instead",
    "before",
    "bomb",
    "disk",
    "leaves",
    "runs",
    "kills",
    "exits",
    "solution",
    "MPI",
)
# Those that depend on walls; what a submission says is not understood behind any of them.
QUICK = SNOOPING | {
    name: attack
    for name, attack in (FORGING | HARMING).items()
    if not attack.slow and any(word in name for word in WALLED)
}


def become(user):
    """Become an ordinary user who can read this Python."""
    kernel.function("unshare", kernel.NEW_MOUNTS)
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.PRIVATE)
    for path in map(Path, (sys.base_prefix, sys.prefix, ddl_teach.__file__)):
        closed = [one for one in reversed(path.resolve().parents) if not one.stat().st_mode & 1]
        if closed:
            kept = tempfile.mkdtemp()
            kernel.mount(str(path.resolve()), kept, flags=kernel.BIND | kernel.RECURSIVE)
            kernel.mount("none", str(closed[0]), "tmpfs", 0, "mode=755")
            path.resolve().mkdir(parents=True)
            kernel.mount(kept, str(path.resolve()), flags=kernel.BIND | kernel.RECURSIVE)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def main(walls, user, folder):
    desk = Desk(Path(folder))
    assignment = read_assignment(desk.source)
    places = desk.places()
    if int(user):
        become(int(user))
    limits = Limits(seconds=120, memory=300 * 2**20)
    earned = {}
    with SandboxServer([desk.source, desk.submissions, desk.out], walls) as nursery:
        for name, attack in QUICK.items():
            answers = Answers({"06.ring": attack.source(**places)})
            score, _ = score_answers(nursery, assignment, answers, 1, limits)
            earned[name] = score.points, score.message
        json.dump({"walls": nursery.walls, "earned": earned}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
