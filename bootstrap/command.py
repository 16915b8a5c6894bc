"""The two commands of start.py."""

import os
import signal
import sys

from bootstrap.environment import ROOT, VENV, prepare
from bootstrap.installation import Problem
from bootstrap.isolation import clean_environment

# Three files at a time: two would leave a third of two cores' time unused, for many tests wait for
# processes to start or to end.
TESTS = ["pytest", "-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]

# Which tests are run; a later `-m` of the user's own takes the place of these.
TIERS = {
    "--quick": [
        "-m",
        "not (real or notebook or browser or box or book or slow or long)",
        "--hypothesis-profile=quick",
        "--ignore=notebooks",
        *("-n", "2"),  # nothing waits here
    ],
    "": ["-m", "not (long or browser)"],
    "--all": [],
}

USAGE = """python3 start.py              opens the course in JupyterLab
python3 start.py test         runs the tests; further words go to pytest
python3 start.py test --quick those of two minutes, before a commit
python3 start.py test --all   all, also those that take hours"""


def main(words: list[str]) -> int:
    """Prepare .venv, then become JupyterLab or pytest; return an exit status if neither."""
    match words:
        case []:
            program = ["ddl_teach", "lab"]
        case ["test", "--quick" | "--all" as tier, *others]:
            program = [*TESTS, *TIERS[tier], *others]
        case ["test", *others]:
            program = [*TESTS, *TIERS[""], *others]
        case ["-h" | "--help" | "help"]:
            print(USAGE)
            return 0
        case _:
            print(f"start.py does not know '{' '.join(words)}'.\n{USAGE}", file=sys.stderr)
            return 2
    signal.signal(signal.SIGTERM, _stop)
    try:
        python = str(prepare())
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The same command starts again.")
        return 128 + signal.SIGINT
    os.chdir(ROOT)
    # In place of this process, so that Ctrl-C and the exit status are the program's own.
    os.execve(python, [python, "-m", *program], clean_environment(VENV))


def _stop(number: int, _frame: object) -> None:
    sys.exit(128 + number)
