"""The two commands of start.py."""

import argparse
import os
import signal
import sys

from bootstrap.environment import ROOT, VENV, prepare
from bootstrap.installation import Problem
from bootstrap.isolation import clean_environment

# Three files at a time: two would leave a third of two cores' time unused, for many tests wait for
# processes to start or to end.
TESTS = ["pytest", "-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]

# Long tests, and those on real ranks, fill these: `--quick` need not collect them.
REAL = (
    "browser",
    "classroom/test_exercises.py",
    "collectives/test_allreduce.py",
    "labs",
)

# Which tests are run; a later `-m` of the user's own takes the place of these.
TIERS = {
    "--quick": [
        "-m",
        "not (real or notebook or browser or box or book or slow or long)",
        "--hypothesis-profile=quick",
        "--ignore=notebooks",
        *(f"--ignore=tests/{place}" for place in REAL),
        *("-n", "2"),  # nothing waits here
    ],
    "": ["-m", "not (long or browser)"],
    "--all": [],
}

USAGE = """python3 start.py              opens the course in JupyterLab
    --no-browser              ... and opens no browser: the address to open is printed
    --port 8890               ... and serves it at this port
python3 start.py test         runs the tests; further words go to pytest
python3 start.py test --quick those of two minutes, before a commit
python3 start.py test --all   all, also those that take hours"""


def main(words: list[str]) -> int:
    """Prepare .venv, then become JupyterLab or pytest; return an exit status if neither."""
    match words:
        case []:
            program = ["ddl_teach", "lab"]
        case [word, *_] if word.startswith(("--no-browser", "--port")):
            program = ["ddl_teach", "lab", "--", *_of_the_lab(words)]
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


def _of_the_lab(words: list[str]) -> list[str]:
    """What JupyterLab is told of these options."""
    parser = argparse.ArgumentParser(prog="python3 start.py", usage=USAGE, add_help=False)
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--port", type=_port)
    options = parser.parse_args(words)
    port = [] if options.port is None else [f"--port={options.port}"]
    return ["--no-browser"] * options.no_browser + port


def _port(word: str) -> int:
    if not (word.isascii() and word.isdigit() and int(word) < 2**16):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {word!r}")
    return int(word)


def _stop(number: int, _frame: object) -> None:
    sys.exit(128 + number)
