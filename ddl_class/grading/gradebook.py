"""nbgrader's gradebook, and the pages that learners get back.

nbgrader would run submitted notebooks without a sandbox, so here it only stores scores. It gets
the released notebook with the learner's answers in it, and the verdict as the output of each cell
that checks. All assignments share one gradebook. The time of the hand-in, and the secret by which
`nbgrader release_feedback` returns a page, are copied beside the answers. A page is made again
where something was given in formgrader.
"""

import hashlib
import json
import logging
import secrets
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbformat import NotebookNode
from nbgrader.apps import NbGraderAPI
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    GetGrades,
    NbGraderPreprocessor,
    SaveAutoGrades,
)
from traitlets.config import Config

from ddl_class.grading import receipts
from ddl_class.grading.feedback_page import FeedbackPage, look_of_pages
from ddl_class.grading.formgrader import by_person
from ddl_class.grading.receipts import Receipt
from ddl_class.grading.submission import Assignment, read_assignment
from ddl_class.grading.verdicts import Progress, Verdict
from ddl_class.release.release import hand_out, settings
from ddl_runtime.records.whole_file import write_whole

NOTEBOOK = 4  # the version of the notebook format
VERDICT = "verdict.json"
new_output: Any = nbformat.v4.new_output
ANSWERS = "answers"  # beside nbgrader's `submitted`, which stays as it was collected
LAYOUT = "one gradebook for all"  # another one means that all is entered anew


class FillInVerdicts(NbGraderPreprocessor):
    """Takes the place of nbgrader's preprocessor that runs the notebook."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Put each verdict into the outputs of the cell that checks."""
        about = resources["nbgrader"]["student"], resources["nbgrader"]["assignment"]
        text = Path(ANSWERS, *about, VERDICT).read_text(encoding="utf-8")
        scores = {score["exercise"]: score for score in json.loads(text)["scores"]}
        for cell in nb.cells:
            if not cell.metadata.get("nbgrader", {}).get("grade"):
                continue
            score = scores[cell.metadata.name]
            printed = score["printed"] and f"printed by the function:\n{score['printed']}\n"
            right = "right\n" if score["points"] == score["of"] else ""
            shown = right or (score["points"] and f"{score['message']}\n")
            cell.outputs = [
                new_output("stream", name="stdout", text=text)
                for text in filter(None, (printed, shown))
            ]
            if shown and not right:  # as nbgrader reads a part of the points
                data = {"text/plain": f"{score['points']:g}"}
                cell.outputs.append(new_output("execute_result", data))
            if not shown:
                lines = score["message"].splitlines()
                failed = {"ename": "CheckFailed", "evalue": "".join(lines[:1])}
                cell.outputs.append(new_output("error", traceback=lines, **failed))
        return nb, resources


def keep_books(out: Path, source: Path, verdicts: Sequence[Verdict], progress: Progress) -> None:
    """Update the assignment's gradebook and its feedback pages to these verdicts."""
    assignment = read_assignment(source)
    exercises = assignment.exercises
    folder = out / "nbgrader"
    pages = out / "feedback" / assignment.name
    booked = pages / ".booked"
    booked.mkdir(parents=True, exist_ok=True)
    [released] = hand_out(folder, source)
    known, given = receipts.kept(out, assignment.name), by_person(out)
    api = NbGraderAPI(config=_settings(folder))
    api.log.setLevel(logging.CRITICAL)
    api.coursedir.assignment_id = assignment.name
    for done, verdict in enumerate(verdicts, start=1):
        mark = booked / verdict.student
        receipt = known.get(verdict.student, Receipt())
        above = [given.get((assignment.name, verdict.student, each.name)) for each in exercises]
        entered, shown = (
            hashlib.sha256(repr(parts).encode()).hexdigest()
            for parts in ((verdict.text, receipt, LAYOUT), above)
        )
        before = mark.read_text().split() if mark.exists() else []
        if verdict.digest and before != [entered, shown]:
            steps: list[Any] = [GenerateFeedback]
            if before[:1] != [entered]:
                _hand_in(folder, released, assignment, verdict, receipt)
                steps.insert(0, Autograde)
            page = _book(api, folder, verdict.student, released.stem, steps)
            write_whole(pages / f"{verdict.student}.html", page)
            write_whole(mark, f"{entered} {shown}")
        progress(done, len(verdicts), verdict.student)


def _book(
    api: NbGraderAPI, folder: Path, student: str, notebook: str, steps: Sequence[Any]
) -> str:
    """Let nbgrader take these steps with a student's scores; returns the student's page."""
    api.coursedir.student_id = student
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its database library says to its authors
        for converter in steps:
            conversion = converter(coursedir=api.coursedir, parent=api)
            conversion.force = True
            conversion.start()
    page = folder / "feedback" / student / api.coursedir.assignment_id / f"{notebook}.html"
    return page.read_text(encoding="utf-8")


def _hand_in(
    folder: Path, released: Path, assignment: Assignment, verdict: Verdict, receipt: Receipt
) -> None:
    """Write the released notebook with the learner's answers in it, for nbgrader to read."""
    notebook = nbformat.read(released, NOTEBOOK)
    sources = {
        exercise.answer_id: verdict.answers[exercise.name]
        for exercise in assignment.exercises
        if exercise.name in verdict.answers
    }
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = sources.get(name, cell.source)
    place = folder / ANSWERS / verdict.student / assignment.name
    place.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, place / released.name)
    write_whole(place / VERDICT, verdict.text)
    # nbgrader needs both files. Work that did not come through its exchange gets a random secret.
    write_whole(place / "timestamp.txt", receipt.handed_in)
    write_whole(place / "submission_secret.txt", receipt.secret or secrets.token_hex(32), 0o600)


def _settings(folder: Path) -> Config:
    config = settings(folder)
    config.Autograde.autograde_preprocessors = [
        FillInVerdicts, SaveAutoGrades, AssignLatePenalties, CheckCellMetadata
    ]  # fmt: skip
    config.CourseDirectory.submitted_directory = ANSWERS
    # Learners see what is wrong, not which inputs the grader tries.
    config.GenerateFeedback.preprocessors = [
        GetGrades, ClearHiddenTests, CSSHTMLHeaderPreprocessor
    ]  # fmt: skip
    config.GenerateFeedback.exporter_class = FeedbackPage
    look_of_pages(config)
    return config
