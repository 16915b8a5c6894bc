"""`ddl-teach grade`: a folder of submissions, each graded in sandboxes, one after another.

    GRADES/grades.csv               student, exercise, points, of, message
    GRADES/feedback/STUDENT.html    what a learner gets back
    GRADES/verdicts/STUDENT.json    the same for programs, and to go on after a break
    GRADES/nbgrader/                nbgrader's folder and gradebook, for its formgrader

Every file is written whole or not at all. What was graded before, of the same notebook by the same
source, is not graded again.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import queue
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ddl_teach.course.grading.assignment import Assignment, read_assignment
from ddl_teach.course.grading.sandbox import Limits, Nursery
from ddl_teach.course.grading.scoring import Score, no_scores, score_answers
from ddl_teach.course.grading.submission import (
    Submission,
    Unreadable,
    find_submissions,
    read_answers,
)
from ddl_teach.course.mistake import Mistake
from ddl_teach.measure.whole_file import write_whole

COLUMNS = ("student", "exercise", "points", "of", "message")
FORMULA = ("=", "+", "-", "@", "\t")  # what a spreadsheet would carry out


Progress = Callable[[int, int, str], None]
"""Is told how many are done, of how many, and who was the last."""


def no_progress(done: int, of: int, student: str) -> None:
    """For whoever does not watch."""


@dataclass(frozen=True)
class Verdict:
    """What one student's submission earned; `answers` is all that was taken from it, and
    `digest` changes when anything does that the scores depend on; it is empty where the grader
    failed and a person must grade."""

    student: str
    digest: str
    scores: list[Score]
    answers: dict[str, str]


def grade(
    submissions: Path,
    source: Path,
    out: Path,
    *,
    jobs: int = 1,
    limits: Limits = Limits(),
    progress: Progress = no_progress,
) -> list[Verdict]:
    """Grade all submissions for the assignment of `source`; results are in `out`."""
    assignment = read_assignment(source)
    found = find_submissions(submissions, assignment.name)
    out.mkdir(parents=True, exist_ok=True)
    (out / "verdicts").mkdir(exist_ok=True)
    seed = _seed(out)
    hidden = [submissions, source, out, source.parent]
    nurseries: queue.SimpleQueue[Nursery] = queue.SimpleQueue()

    def grade_one(one: Submission) -> Verdict:
        nursery = nurseries.get()
        try:
            return _grade_one(nursery, assignment, one, source, out, seed, limits)
        finally:
            nurseries.put(nursery)

    verdicts: list[Verdict] = []
    all_nurseries: list[Nursery] = []
    with ExitStack() as stack:
        for _ in range(min(jobs, len(found))):
            nursery = stack.enter_context(Nursery(hidden, modules=assignment.slow_imports))
            nurseries.put(nursery)
            all_nurseries.append(nursery)
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        stack.callback(pool.shutdown, cancel_futures=True)
        try:
            for verdict in pool.map(grade_one, found):
                verdicts.append(verdict)
                progress(len(verdicts), len(found), verdict.student)
        except BaseException:
            for nursery in all_nurseries:  # or the end would wait for what is being graded
                nursery.hang_up()
            raise
    write_whole(out / "grades.csv", grades_text(verdicts))
    return verdicts


def _grade_one(
    nursery: Nursery,
    assignment: Assignment,
    one: Submission,
    source: Path,
    out: Path,
    seed: int,
    limits: Limits,
) -> Verdict:
    try:
        raw = one.read()
        problem = ""
    except Unreadable as error:
        raw, problem = b"", str(error)
    kept = out / "verdicts" / f"{one.student}.json"
    digest = hashlib.sha256(
        b"\0".join([source.read_bytes(), raw, problem.encode(), repr(limits).encode()])
    ).hexdigest()
    earlier = _earlier(kept, digest)
    if earlier:
        return earlier
    answers: dict[str, str] = {}
    try:
        if problem:
            raise Unreadable(problem)
        answers = read_answers(raw, assignment)
        scores = score_answers(nursery, assignment, answers, seed, limits)
    except Unreadable as error:
        scores = no_scores(assignment, str(error))
    except Mistake:
        raise
    except Exception as error:  # our own defect must not cost the others their grades
        why = f"the grader itself failed, grade by hand: {type(error).__name__}: {error}"
        scores = [replace(score, doubtful=True) for score in no_scores(assignment, why)]
        return Verdict(one.student, "", scores, answers)
    verdict = Verdict(one.student, digest, scores, answers)
    write_whole(kept, json.dumps(asdict(verdict), indent=1))
    return verdict


def _earlier(kept: Path, digest: str) -> Verdict | None:
    """The verdict of an earlier run on the same bytes."""
    try:
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if found.get("digest") != digest:
        return None
    scores = [Score(**score) for score in found["scores"]]
    return Verdict(found["student"], digest, scores, found["answers"])


def _seed(out: Path) -> int:
    """One seed for all who are graded into this folder, known to nobody before."""
    path = out / "seed"
    if not path.exists():
        write_whole(path, f"{secrets.randbits(63)}\n")
    return int(path.read_text())


def grades_text(verdicts: Sequence[Verdict]) -> str:
    """The grades as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for verdict in verdicts:
        for score in verdict.scores:
            numbers = (f"{score.points:g}", f"{score.of:g}")
            row = [verdict.student, score.exercise, *numbers, score.message]
            writer.writerow([_harmless(value) for value in row])
    return text.getvalue()


def _harmless(text: str) -> str:
    """The text, as one that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text
