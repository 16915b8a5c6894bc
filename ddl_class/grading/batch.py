"""`ddl-teach grade`: a folder of submissions, each graded in sandboxes, one after another.

    GRADES/students.csv, GRADES/grades.csv      a row for each student; a row for each exercise
    GRADES/feedback/ASSIGNMENT/STUDENT.html     the page that a learner gets back
    GRADES/verdicts/ASSIGNMENT/STUDENT.json     the same for programs, and to go on after a break
    GRADES/nbgrader/                            nbgrader's folder, with one gradebook for all

A submission is not graded again while the notebook, the source, the judges and the libraries are
the same. Doubtful scores are an exception.
"""

import argparse
import fcntl
import hashlib
import queue
import re
import secrets
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from ddl_class.commands.mistake import Mistake
from ddl_class.grading import receipts, submission, tables, verdicts
from ddl_class.grading.collected import find_submissions
from ddl_class.grading.other_process import OtherProcess
from ddl_class.grading.sandbox import Limits, SandboxServer
from ddl_class.grading.scoring import no_scores, score_answers
from ddl_class.grading.submission import Assignment, Submission, Unreadable, read_assignment
from ddl_class.grading.verdicts import Progress, Verdict

# Each takes seconds, and memory that would count for every rank.
SLOW = ("torch", "scipy.special", "pandas")
IMPORTED = r"""(import|from)[\w., ]*\b{name}\b|["']{name}\b"""
BAR = 24  # characters
BUSY, PATIENCE = 50.0, 30.0  # percent of the processors' time, seconds
LONGER = 4.0  # times as long a second try may take, on a machine that stays busy


def grade_folder(options: argparse.Namespace) -> int:
    """Grade, write gradebook and tables, and print a summary; returns the exit status."""
    out: Path = options.out
    if out.exists() and not out.is_dir():
        raise Mistake(f"--out {out} is a file; name a folder, new or of an earlier grading")
    out.mkdir(parents=True, exist_ok=True)
    with _alone_in(out):
        reached = grade(
            options.submissions,
            options.source,
            out,
            jobs=options.jobs,
            limits=Limits(seconds=options.timeout),
            progress=_bar("grading"),
            trying_again=_bar("once more"),
        )
        kept = verdicts.all_kept(out)
        reached = tables.decided(out, reached, kept)
        if options.feedback:
            from ddl_class.grading.gradebook import keep_books

            keep_books(out, options.source, reached, _bar("feedback"))
        reached = tables.with_formgrader(out, reached)
        now = {verdict.student for verdict in reached}
        absent = [
            earlier.student
            for earlier in kept
            if earlier.assignment == reached[0].assignment and earlier.student not in now
        ]
    print(summary(reached, out, options.feedback, absent))
    return 0


def grade(
    submissions: Path, source: Path, out: Path, *, jobs: int = 1, limits: Limits = Limits(),
    progress: Progress = lambda *_: None, trying_again: Progress = lambda *_: None,
) -> list[Verdict]:  # fmt: skip
    """Grade all submissions for the assignment of `source`; results go into `out`. Doubtful scores
    are tried again at the end, one submission at a time, once the machine is quiet."""
    verdicts.refuse_older_layout(out)
    assignment = read_assignment(source)
    handed_in = find_submissions(submissions, assignment.name)
    out.mkdir(parents=True, exist_ok=True)
    receipts.note(out, assignment.name, handed_in)
    hidden = submissions, source, out, source.parent
    grading = Grading(
        assignment, source.read_bytes(), verdicts.fingerprint(), out, limits, hidden,
        slow_modules(handed_in, assignment),
    )  # fmt: skip
    graders: Sequence[Grading | OtherProcess]
    idle: queue.SimpleQueue[Grading | OtherProcess] = queue.SimpleQueue()

    def by_one_of_them(work: Submission, *again: Any) -> Verdict:
        grader = idle.get()
        try:
            return grader.verdict(work, *again)
        finally:
            idle.put(grader)

    reached: list[Verdict] = []
    with ExitStack() as stack:
        count = min(jobs, sum(grading.kept(work) is None for work in handed_in))
        graders = [OtherProcess(grading) for _ in range(count)] if count > 1 else [grading]
        for grader in graders:
            stack.enter_context(grader)
            idle.put(grader)
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        stack.callback(pool.shutdown, cancel_futures=True)
        try:
            for verdict in pool.map(by_one_of_them, handed_in):
                reached.append(verdict)
                progress(len(reached), len(handed_in), verdict.student)
            doubtful = [
                at
                for at, verdict in enumerate(reached)
                if verdict.digest and any(score.doubtful for score in verdict.scores)
            ]
            for done, at in enumerate(doubtful, start=1):
                again = reached[at], wait_for_quiet()
                reached[at] = pool.submit(by_one_of_them, handed_in[at], *again).result()
                trying_again(done, len(doubtful), reached[at].student)
        except BaseException:
            for grader in graders:  # or the end would wait for what is being graded
                grader.hang_up()
            raise
    tables.write_tables(out)
    return reached


def wait_for_quiet() -> float:
    """Wait until other programs leave half of the processors' time, but PATIENCE seconds at
    most; returns how many times as long a try may take then."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if psutil.cpu_percent(interval=1.0) <= BUSY:
            return 1.0
    return LONGER


def slow_modules(handed_in: Sequence[Submission], assignment: Assignment) -> list[str]:
    """The slow modules that a submission may import: they are imported once, for all sandboxes."""

    def named_in(text: bytes) -> set[str]:
        imports = {name: IMPORTED.format(name=name.split(".")[0]).encode() for name in SLOW}
        return {name for name, pattern in imports.items() if re.search(pattern, text)}

    named = named_in("\n".join(assignment.handed_out).encode())
    for work in handed_in:
        with suppress(Unreadable):
            named |= named_in(work.read())
    return [name for name in SLOW if name in named]


@dataclass
class Grading(AbstractContextManager["Grading"]):
    """What is the same for all submissions of one grading."""

    assignment: Assignment
    source: bytes
    tools: str  # the fingerprint of what grades
    out: Path
    limits: Limits
    hidden: Sequence[Path]  # from all ranks
    modules: Sequence[str]  # imported once, for all ranks

    def __enter__(self) -> "Grading":
        self._server = SandboxServer(self.hidden, modules=self.modules)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def hang_up(self) -> None:
        self._server.hang_up()

    def kept(self, work: Submission, digest: str = "") -> Verdict | None:
        """The verdict of an earlier grading, if nothing that it depends on has changed: the
        `digest`, where it is known."""
        earlier = verdicts.kept(self.out, self.assignment.name, work.student)
        same = earlier and earlier.digest == (digest or self._read(work)[-1])
        return earlier if same else None

    def _read(self, work: Submission) -> tuple[bytes, str, str]:
        """A submission, what is wrong with its file, and a digest of all that scores depend on."""
        try:
            raw, problem = work.read(), ""
        except Unreadable as error:
            raw, problem = b"", str(error)
        circumstances = repr((self.tools, self.limits, problem)).encode()
        digest = hashlib.sha256(b"\0".join([circumstances, self.source, raw])).hexdigest()
        return raw, problem, digest

    def verdict(
        self, work: Submission, doubted: Verdict | None = None, longer: float = 1.0
    ) -> Verdict:
        """The kept verdict if nothing that it depends on has changed; otherwise a new one. Of a
        `doubted` verdict only the doubtful scores are tried again, with so much more time."""
        raw, problem, digest = self._read(work)
        if doubted and doubted.digest != digest:  # it was handed in anew meanwhile
            doubted = None
        if not doubted and (earlier := self.kept(work, digest)):
            return earlier
        again = (doubted.scores,) if doubted else ()
        answers = submission.Answers({})
        try:
            if problem:
                raise Unreadable(problem)
            answers = submission.read_answers(raw, self.assignment)
            # Feedback shows some of the hidden data: drawn ones never come again.
            limits = replace(self.limits, seconds=longer * self.limits.seconds)
            known = self.assignment, answers, secrets.randbits(63), limits
            scores = score_answers(self._server, *known, *again)
        except Unreadable as error:
            scores = no_scores(self.assignment, str(error))
        except Mistake:
            raise
        except Exception as error:  # our own defect must not cost the others their grades
            why = f"the grader itself failed, grade by hand: {type(error).__name__}: {error}"
            scores = [replace(score, doubtful=True) for score in no_scores(self.assignment, why)]
            digest = ""
        verdict = Verdict(self.assignment.name, work.student, digest, scores, answers)
        verdicts.keep(self.out, verdict)
        return verdict


def summary(
    reached: Sequence[Verdict], out: Path, feedback: bool = True, absent: Sequence[str] = ()
) -> str:
    """How many submissions solved each exercise, what to look at by hand, and where the results
    are."""
    assignment = reached[0].assignment
    totals = [sum(score.points for score in verdict.scores) for verdict in reached]
    most = sum(score.of for score in reached[0].scores)
    lines = [
        f"{len(reached)} submissions, of {most:g} points each: from {min(totals):g} to "
        f"{max(totals):g}, median {statistics.median(totals):g}"
    ]
    for scores in zip(*(verdict.scores for verdict in reached), strict=True):
        right = sum(score.points >= score.of for score in scores)
        lines.append(f"  {scores[0].exercise:<24} {right} of {len(scores)} right")
    doubtful = [
        (score.limit, f"{verdict.student} ({score.exercise})")
        for verdict in reached
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
            f"(typed again, this command tries them once more; {out / tables.BY_HAND} decides)"
        )
    if absent:
        lines.append(
            f"not among these submissions, so their earlier grades stay: {', '.join(absent)} "
            f"(to drop one, delete its file in {verdicts.verdicts_folder(out, assignment)})"
        )
    lines.append(f"grades: {out / tables.STUDENTS}, and {out / tables.EXERCISES} for exercises")
    if feedback:
        books = out / "nbgrader"
        lines.append(f"feedback pages: {out / 'feedback' / assignment}; gradebook: {books}")
        lines.append(f"back by the exchange: cd {books} && nbgrader release_feedback {assignment}")
    return "\n".join(lines)


def _bar(what: str) -> Progress:
    """A progress bar on one line of a terminal; in a log, a line for each submission."""

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
