"""nbgrader's part: a gradebook, and pages that learners get back.

nbgrader would run the submitted notebooks itself, with no walls around them. Here it only keeps
the books: it is given the instructor's release with the learner's answers in it, and where it
would run a check, the verdict is put in as that cell's output. Each assignment has a gradebook of
its own: a common one would give students zero points where they handed in nothing.
"""

import hashlib
import json
import logging
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
from traitlets import Unicode
from traitlets.config import Config

from ddl_class.grading.submission import Assignment, read_assignment
from ddl_class.grading.verdicts import Progress, Verdict, verdicts_folder
from ddl_class.release.release import hand_out, settings
from ddl_runtime.records.whole_file import write_whole

NOTEBOOK = 4  # the version of the notebook format


class FillInVerdicts(NbGraderPreprocessor):
    """Stands where nbgrader would execute the notebook."""

    folder = Unicode(help="where the verdicts are").tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Put each verdict into the outputs of the cell that checks."""
        student = resources["nbgrader"]["student"]
        text = Path(self.folder, f"{student}.json").read_text(encoding="utf-8")
        scores = {score["exercise"]: score for score in json.loads(text)["scores"]}
        for cell in nb.cells:
            if not cell.metadata.get("nbgrader", {}).get("grade"):
                continue
            score = scores[cell.metadata.name]
            printed = score["printed"] and f"printed by the function:\n{score['printed']}\n"
            right = "right\n" if score["points"] == score["of"] else ""
            cell.outputs = [
                nbformat.v4.new_output("stream", name="stdout", text=text)
                for text in filter(None, (printed, right))
            ]
            if not right:
                lines = score["message"].splitlines()
                failed = {"ename": "CheckFailed", "evalue": "".join(lines[:1])}
                cell.outputs.append(nbformat.v4.new_output("error", traceback=lines, **failed))
        return nb, resources


def keep_books(out: Path, source: Path, verdicts: Sequence[Verdict], progress: Progress) -> None:
    """Bring the assignment's gradebook and feedback pages up to date with the verdicts."""
    assignment = read_assignment(source)
    folder = out / "nbgrader" / assignment.name
    pages = out / "feedback" / assignment.name
    booked = pages / ".booked"
    booked.mkdir(parents=True, exist_ok=True)
    [released] = hand_out(folder, source)
    api = NbGraderAPI(config=_settings(folder, verdicts_folder(out, assignment.name)))
    api.log.setLevel(logging.CRITICAL)
    api.coursedir.assignment_id = assignment.name
    for done, verdict in enumerate(verdicts, start=1):
        mark = booked / verdict.student
        digest = hashlib.sha256(verdict.text.encode()).hexdigest()
        if verdict.digest and not (mark.exists() and mark.read_text() == digest):
            _hand_in(folder, released, assignment, verdict)
            page = _book(api, folder, verdict.student, released.stem)
            write_whole(pages / f"{verdict.student}.html", page)
            write_whole(mark, digest)
        progress(done, len(verdicts), verdict.student)


def _book(api: NbGraderAPI, folder: Path, student: str, notebook: str) -> str:
    """Let nbgrader enter one student's scores; returns the page for the student."""
    api.coursedir.student_id = student
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its database library says to its authors
        for converter in (Autograde, GenerateFeedback):
            conversion = converter(coursedir=api.coursedir, parent=api)
            conversion.force = True
            conversion.start()
    page = folder / "feedback" / student / api.coursedir.assignment_id / f"{notebook}.html"
    return page.read_text(encoding="utf-8")


def _hand_in(folder: Path, released: Path, assignment: Assignment, verdict: Verdict) -> None:
    """The released notebook with the learner's answers in it, and nothing else of theirs."""
    notebook = nbformat.read(released, NOTEBOOK)
    sources = {
        exercise.answer_id: verdict.answers[exercise.name]
        for exercise in assignment.exercises
        if exercise.name in verdict.answers
    }
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = sources.get(name, cell.source)
    place = folder / "submitted" / verdict.student / assignment.name
    place.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, place / released.name)


def _settings(folder: Path, verdicts: Path) -> Config:
    config = settings(folder)
    config.Autograde.autograde_preprocessors = [
        FillInVerdicts, SaveAutoGrades, AssignLatePenalties, CheckCellMetadata
    ]  # fmt: skip
    config.FillInVerdicts.folder = str(verdicts.resolve())
    # Learners are told what is wrong, not what the grader tries.
    config.GenerateFeedback.preprocessors = [
        GetGrades, ClearHiddenTests, CSSHTMLHeaderPreprocessor
    ]  # fmt: skip
    config.HTMLExporter.sanitize_html = True
    return config
