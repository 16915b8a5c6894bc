"""`ddl-teach grade`: a class's submissions, or with `--mine` one's own notebook.

One's own file is graded in sandboxes as a class's are, and nothing is kept. The score may differ
from `check` if cells were deleted, or run in another order, since the file was saved.
"""

import argparse
import secrets
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.batch import grade_folder, slow_modules
from ddl_class.grading.sandbox import Limits, SandboxServer
from ddl_class.grading.scoring import score_answers
from ddl_class.grading.submission import Submission, Unreadable, read_answers, read_assignment
from ddl_class.release.release import SOURCES


def grade(options: argparse.Namespace) -> int:
    """Do what the command line says; returns the exit status."""
    if options.mine:
        return grade_mine(options)
    if options.submissions == Path() or options.source is None or options.out is None:
        raise Mistake(
            "grading a class needs the folder of its submissions, --source and --out:\n"
            "  ddl-teach grade FOLDER --source notebooks/source/06_allreduce.py --out GRADES\n"
            "and your own notebook --mine: ddl-teach grade --mine 06_allreduce.ipynb"
        )
    return grade_folder(options)


def grade_mine(options: argparse.Namespace) -> int:
    """Grade the notebook that is named, or the one in the folder, and print what it earns."""
    place = options.submissions
    notebooks = sorted(place.glob("*.ipynb")) if place.is_dir() else [place]
    if len(notebooks) != 1:
        raise Mistake(
            f"{place.resolve()} holds {len(notebooks) or 'no'} notebooks. Name yours, as in\n"
            "  ddl-teach grade --mine 06_allreduce.ipynb"
        )
    work = Submission("you", notebooks[0])
    assignment = read_assignment(options.source or _source(work.path))
    try:
        answers = read_answers(work.read(), assignment)
    except Unreadable as error:
        raise Mistake(f"{work.path}: {error}") from None
    limits = Limits(seconds=options.timeout)
    with SandboxServer(modules=slow_modules([work], assignment)) as server:
        scores = score_answers(server, assignment, answers, secrets.randbits(63), limits)
    for score in scores:
        print(f"{score.exercise:<24} {score.points:g} of {score.of:g}")
        if score.points < score.of:
            print(*(f"    {line}" for line in score.message.splitlines()), sep="\n")
    total, most = sum(score.points for score in scores), sum(score.of for score in scores)
    print(f"{work.path.name} as it was saved last: {total:g} of {most:g} points")
    return 0


def _source(notebook: Path) -> Path:
    """The source that a notebook of the course was made from, by its name."""
    sources = [path for path in SOURCES.glob("*.py") if notebook.stem.startswith(path.stem)]
    if not sources:
        raise Mistake(
            f"No source in {SOURCES} is called as {notebook.name} is. Call the notebook as it was "
            "handed out, or name what it was made from by --source"
        )
    return max(sources, key=lambda path: len(path.stem))
