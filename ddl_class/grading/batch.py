"""`ddl-teach grade`: a folder of submissions, each graded in sandboxes, one after another.

    GRADES/grades.csv                           a row for each exercise: points, of, message
    GRADES/feedback/ASSIGNMENT/STUDENT.html     what a learner gets back
    GRADES/verdicts/ASSIGNMENT/STUDENT.json     the same for programs, and to go on after a break
    GRADES/nbgrader/ASSIGNMENT/                 nbgrader's folder and gradebook, for its formgrader

A folder may hold the grades of many assignments. Every file is written whole or not at all. What
was graded before, of the same notebook by the same source, judges and libraries, is not graded
again, unless it is doubtful.
"""

from __future__ import annotations

import hashlib
import queue
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.assignment import Assignment, read_assignment
from ddl_class.grading.fingerprint import fingerprint
from ddl_class.grading.sandbox import Limits, SandboxServer
from ddl_class.grading.scoring import Score, no_scores, score_answers
from ddl_class.grading.submission import (
    Answers,
    Submission,
    Unreadable,
    find_submissions,
    read_answers,
)
from ddl_class.grading.verdicts import (
    Verdict,
    all_kept,
    grades_text,
    keep,
    kept,
    refuse_older_layout,
)
from ddl_runtime.records.whole_file import write_whole

# Each takes seconds, and memory that would count for every rank.
SLOW = ("torch", "scipy.special", "pandas")

Progress = Callable[[int, int, str], None]
"""Is told how many are done, of how many, and who was the last."""


def no_progress(done: int, of: int, student: str) -> None:
    """For whoever does not watch."""


def grade(
    submissions: Path,
    source: Path,
    out: Path,
    *,
    jobs: int = 1,
    limits: Limits = Limits(),
    progress: Progress = no_progress,
    trying_again: Progress = no_progress,
) -> list[Verdict]:
    """Grade all submissions for the assignment of `source`; results are in `out`, beside those
    of other assignments.

    What is doubtful is tried again when all others are done, one submission after another.
    """
    refuse_older_layout(out)
    assignment = read_assignment(source)
    found = find_submissions(submissions, assignment.name)
    out.mkdir(parents=True, exist_ok=True)
    grading = _Grading(assignment, source.read_bytes(), fingerprint(), out, _seed(out), limits)
    hidden = [submissions, source, out, source.parent]
    modules = _slow_modules(found, assignment)
    nurseries: queue.SimpleQueue[SandboxServer] = queue.SimpleQueue()

    def in_a_nursery(task: Callable[[SandboxServer], Verdict]) -> Verdict:
        server = nurseries.get()
        try:
            return task(server)
        finally:
            nurseries.put(server)

    verdicts: list[Verdict] = []
    all_nurseries: list[SandboxServer] = []
    with ExitStack() as stack:
        for _ in range(min(jobs, len(found))):
            server = stack.enter_context(SandboxServer(hidden, modules=modules))
            nurseries.put(server)
            all_nurseries.append(server)
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        stack.callback(pool.shutdown, cancel_futures=True)
        try:
            for verdict in pool.map(in_a_nursery, [partial(grading.first, one) for one in found]):
                verdicts.append(verdict)
                progress(len(verdicts), len(found), verdict.student)
            doubted = [index for index, one in enumerate(verdicts) if one.to_be_tried_again]
            for done, index in enumerate(doubted, start=1):
                alone = pool.submit(
                    in_a_nursery, partial(grading.again, found[index], verdicts[index])
                )
                verdicts[index] = alone.result()
                trying_again(done, len(doubted), verdicts[index].student)
        except BaseException:
            for server in all_nurseries:  # or the end would wait for what is being graded
                server.hang_up()
            raise
    write_whole(out / "grades.csv", grades_text(all_kept(out)))
    return verdicts


def _slow_modules(found: Sequence[Submission], assignment: Assignment) -> list[str]:
    """What somebody may import, and is better imported once for all sandboxes."""
    speaks_of = set[str]()
    for one in found:
        with suppress(Unreadable):
            raw = one.read()
            speaks_of |= {name for name in SLOW if name.split(".")[0].encode() in raw}
    text = "\n".join(assignment.handed_out)
    return [name for name in SLOW if name in speaks_of or name.split(".")[0] in text]


@dataclass(frozen=True)
class _Contents:
    """What was handed in, or the problem with it."""

    raw: bytes
    problem: str
    digest: str  # of this and of all else that the scores depend on


@dataclass(frozen=True)
class _Grading:
    """What is the same for all submissions of one grading."""

    assignment: Assignment
    source: bytes
    tools: str  # the fingerprint of what grades
    out: Path
    seed: int
    limits: Limits

    def first(self, one: Submission, server: SandboxServer) -> Verdict:
        """The kept verdict, where nothing has changed since; otherwise a new one."""
        contents = self._read(one)
        earlier = kept(self.out, self.assignment.name, one.student)
        if earlier and earlier.digest == contents.digest:
            return earlier
        return self._reach(one.student, contents, partial(score_answers, server, self.assignment))

    def again(self, one: Submission, earlier: Verdict, server: SandboxServer) -> Verdict:
        """The verdict with one more try for what is doubtful."""
        contents = self._read(one)
        if earlier.digest != contents.digest:  # handed in anew meanwhile
            return self.first(one, server)
        scoring = partial(score_answers, server, self.assignment, earlier=earlier.scores)
        return self._reach(one.student, contents, scoring)

    def _read(self, one: Submission) -> _Contents:
        raw, problem = b"", ""
        try:
            raw = one.read()
        except Unreadable as error:
            problem = str(error)
        circumstances = repr((self.tools, self.seed, self.limits, problem)).encode()
        digest = hashlib.sha256(b"\0".join([circumstances, self.source, raw])).hexdigest()
        return _Contents(raw, problem, digest)

    def _reach(
        self, student: str, contents: _Contents, scoring: Callable[..., list[Score]]
    ) -> Verdict:
        answers = Answers({})
        digest = contents.digest
        try:
            if contents.problem:
                raise Unreadable(contents.problem)
            answers = read_answers(contents.raw, self.assignment)
            scores = scoring(answers, self.seed, self.limits)
        except Unreadable as error:
            scores = no_scores(self.assignment, str(error))
        except Mistake:
            raise
        except Exception as error:  # our own defect must not cost the others their grades
            why = f"the grader itself failed, grade by hand: {type(error).__name__}: {error}"
            scores = [replace(score, doubtful=True) for score in no_scores(self.assignment, why)]
            digest = ""
        verdict = Verdict(self.assignment.name, student, digest, scores, answers)
        keep(self.out, verdict)
        return verdict


def _seed(out: Path) -> int:
    """One seed for all who are graded into this folder, known to nobody before."""
    path = out / "seed"
    if not path.exists():
        write_whole(path, f"{secrets.randbits(63)}\n")
    return int(path.read_text())
