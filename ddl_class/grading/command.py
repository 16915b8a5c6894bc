"""The command `ddl-teach grade`: grade, keep the books, and say what came out."""

from __future__ import annotations

import argparse
import fcntl
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.batch import Progress, grade
from ddl_class.grading.sandbox import Limits
from ddl_class.grading.verdicts import Verdict, all_kept, verdicts_folder

BAR = 24  # characters


def grade_folder(options: argparse.Namespace) -> int:
    """Do what the command line asks for; returns the exit status."""
    out: Path = options.out
    if out.exists() and not out.is_dir():
        raise Mistake(f"--out {out} is a file; name a folder, new or of an earlier grading")
    out.mkdir(parents=True, exist_ok=True)
    with _alone_in(out):
        verdicts = grade(
            options.submissions,
            options.source,
            out,
            jobs=options.jobs,
            limits=Limits(seconds=options.timeout),
            progress=_bar("grading"),
            trying_again=_bar("once more"),
        )
        if options.feedback:
            from ddl_class.grading.gradebook import keep_books

            keep_books(out, options.source, verdicts, _bar("feedback"))
        now = {verdict.student for verdict in verdicts}
        absent = [
            earlier.student
            for earlier in all_kept(out)
            if earlier.assignment == verdicts[0].assignment and earlier.student not in now
        ]
    print(summary(verdicts, out, options.feedback, absent))
    return 0


def summary(
    verdicts: Sequence[Verdict], out: Path, feedback: bool = True, absent: Sequence[str] = ()
) -> str:
    """The exercises with how many solved each, and where everything is."""
    assignment = verdicts[0].assignment
    totals = [sum(score.points for score in verdict.scores) for verdict in verdicts]
    most = sum(score.of for score in verdicts[0].scores)
    lines = [
        f"{len(verdicts)} submissions, of {most:g} points each: from {min(totals):g} to "
        f"{max(totals):g}, median {statistics.median(totals):g}"
    ]
    for scores in zip(*(verdict.scores for verdict in verdicts), strict=True):
        right = sum(score.points == score.of for score in scores)
        lines.append(f"  {scores[0].exercise:<24} {right} of {len(scores)} right")
    doubtful = [
        (score.limit, f"{verdict.student} ({score.exercise})")
        for verdict in verdicts
        for score in verdict.scores
        if score.doubtful
    ]
    failed = [name for limit, name in doubtful if not limit]
    ended = [name for limit, name in doubtful if limit]
    if failed:
        lines.append(f"the check itself failed, so look yourself: {', '.join(failed)}")
    if ended:
        lines.append(
            f"the time or memory was used up, also alone, so look yourself: {', '.join(ended)} "
            "(typed again, this command tries them once more)"
        )
    if absent:
        lines.append(
            f"not among these submissions, so their earlier grades stay: {', '.join(absent)} "
            f"(to drop one, delete its file in {verdicts_folder(out, assignment)})"
        )
    lines.append(f"grades: {out / 'grades.csv'}")
    if feedback:
        pages, books = out / "feedback" / assignment, out / "nbgrader" / assignment
        lines.append(f"feedback pages: {pages}; gradebook: {books}")
    return "\n".join(lines)


def _bar(what: str) -> Progress:
    """A progress bar that stays in its line; in a log, a line for each."""

    def show(done: int, of: int, student: str) -> None:
        filled = BAR * done // of
        bar = f"{what:<9} [{'#' * filled}{'.' * (BAR - filled)}] {done}/{of}"
        if sys.stderr.isatty():
            end = "\n" if done == of else ""
            print(f"\r\033[K{bar} {student[:40]}", end=end, file=sys.stderr, flush=True)
        else:
            print(f"{bar} {student}", file=sys.stderr, flush=True)

    return show


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    with open(folder / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Mistake(f"another grading into {folder} is running: wait for it") from None
        try:
            yield
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                "Interrupted. Type the same line again to go on where it was."
            ) from None
