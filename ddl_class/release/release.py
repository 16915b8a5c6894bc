"""From one source the learner's notebook, the solved one and nbgrader's.

A source is the instructor's version, as plain Python (jupytext's py:percent). Two cells of it
belong to each exercise, known by their name and tag:

    # %% name="06.ring" tags=["answer"]
    the function; its solution between ### BEGIN SOLUTION and ### END SOLUTION

    # %% name="06.ring" tags=["check"]
    check("06.ring", ...); what only the grader tries between ### BEGIN HIDDEN TESTS and
    ### END HIDDEN TESTS

Some exercises are to put lines in order (`order` in their table). The solution's lines then stand
above the stub as comments, sorted by the alphabet. Lines that belong nowhere stand among them.

nbgrader's own steps make stubs of solutions, remove hidden tests and lock the cells that check.
The same source gives the same bytes, and a cell keeps its id when cells are added before it. A
folder for nbgrader holds source/ (with solutions, for teachers only), release/ (what is handed
out), gradebook.db and nbgrader_config.py.
"""

import argparse
import hashlib
import logging
import os
import sysconfig
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from nbgrader import preprocessors
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.registry import find_exercise
from ddl_runtime.records.whole_file import write_whole

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
METADATA = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
STUB = "raise NotImplementedError"
MARKS = tuple(
    f"{end} {what}" for end in ("### BEGIN", "### END") for what in ("SOLUTION", "HIDDEN TESTS")
)


def instructors(source: Path) -> NotebookNode:
    """The notebook with solutions and hidden tests, its exercises marked for nbgrader."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        cell.source = cell.source.replace(FOR_THE_FORMATTER, "")
        kind = exercise_part(cell)
        if kind and "name" not in cell.metadata:
            raise Mistake(f"{source.name}: a cell with the tag {kind} has no name of an exercise")
        digest = hashlib.sha256(cell.source.encode()).hexdigest()[:12]
        name = f"{cell.metadata.name}-{kind}".replace(".", "-") if kind else digest
        repeated = seen[name] = seen.get(name, -1) + 1
        cell.id = name + (f"-{repeated}" if repeated else "")
        if kind:
            if repeated:
                raise Mistake(f"{source.name}: {cell.metadata.name} has two {kind} cells")
            answer = kind == "answer"
            about = {"cell_type": "code", "grade_id": cell.id, "schema_version": 3, "task": False}
            about |= {"solution": answer, "grade": not answer, "locked": not answer}
            if not answer:
                about["points"] = find_exercise(cell.metadata.name).points
            cell.metadata.nbgrader = about
    preprocessors.CheckCellMetadata().preprocess(notebook, {})
    return notebook


def exercise_part(cell: NotebookNode) -> str | None:
    """Whether a cell is the "answer" or the "check" of an exercise, or neither."""
    tags = cell.metadata.get("tags", ())
    return next((kind for kind in ("answer", "check") if kind in tags), None)


def with_lines_to_order(notebook: NotebookNode) -> NotebookNode:
    """The notebook of `instructors`, with the lines that learners put in order."""
    for cell in notebook.cells:
        if exercise_part(cell) == "answer" and (others := find_exercise(cell.metadata.name).order):
            above, begin, rest = cell.source.partition(f"    {MARKS[0]}\n")
            solution = rest[: rest.index("    ### END SOLUTION")].splitlines()
            lines = sorted([*map(str.strip, solution), *others])
            shown = "".join(f"    # {line}\n" for line in lines)
            cell.source = above + shown + begin + rest
    return notebook


def learners(source: Path) -> NotebookNode:
    """The notebook that is handed out: stubs in place of solutions, no hidden tests."""
    stubs = preprocessors.ClearSolutions(code_stub={"python": STUB})
    hiding, sums = preprocessors.ClearHiddenTests(), preprocessors.ComputeChecksums()
    notebook = with_lines_to_order(instructors(source))
    try:
        for step in (preprocessors.LockCells(), stubs, hiding, sums):
            notebook, _ = step.preprocess(notebook, {})
    except RuntimeError as error:
        raise Mistake(f"{source.name}: {error}") from None
    return notebook


def solved(source: Path) -> NotebookNode | None:
    """The notebook with solutions, hidden tests included; none for one without exercises."""
    notebook = instructors(source)
    if not any(map(exercise_part, notebook.cells)):
        return None
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
        lines = cell.source.split("\n")
        cell.source = "\n".join(line for line in lines if not line.strip().startswith(MARKS))
    return notebook


def text(notebook: NotebookNode) -> str:
    """What stands in the notebook's file."""
    return nbformat.writes(notebook) + "\n"


FOR_THE_FORMATTER = "  # fmt: skip"  # says nothing to a learner
SOURCES = Path(__file__).resolve().parents[2] / "notebooks" / "source"
SETTINGS = '''"""nbgrader's settings for this course. Your own, below the last line, are kept."""

from ddl_class.release.release import settle

settle(get_config())  # noqa: F821
'''
SECONDS_A_CELL = 120  # an exercise's own limits end earlier, and say more


def hand_out(folder: Path, sources: Path = SOURCES) -> list[Path]:
    """Make or renew the folder, from one source or all in a folder; returns what to hand out."""
    paths = [sources] if sources.is_file() else sorted(sources.glob("*.py"))
    exercises = [path for path in paths if solved(path) is not None]
    if not exercises:
        raise Mistake(
            f"There are no sources with exercises in {sources}: this works in a clone of the "
            "course, not where only the package was installed."
        )
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "nbgrader_config.py"
    own = kept.read_text(encoding="utf-8") if kept.exists() else None
    if own is None or not own.startswith(SETTINGS):
        if own is not None:
            write_whole(kept.with_name(f"{kept.name}.before"), own)
        write_whole(kept, SETTINGS)
    nbgrader = NbGraderAPI(config=settings(folder))
    nbgrader.log.setLevel(logging.ERROR)
    # nbgrader calls a program of its own environment, which may not have been activated.
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), before])
    try:
        for source in exercises:
            path = folder / "source" / source.stem / f"{source.stem}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(with_lines_to_order(instructors(source))), encoding="utf-8")
            outcome = nbgrader.generate_assignment(source.stem, force=True, create=True)
            if not outcome["success"]:
                raise Mistake(f"nbgrader refuses {source.stem}:\n{outcome['log']}")
    finally:
        os.environ["PATH"] = before
    return [folder / "release" / unit.stem / f"{unit.stem}.ipynb" for unit in exercises]


def release(options: argparse.Namespace) -> int:
    """`ddl-teach release`."""
    try:
        for path in hand_out(options.folder):
            print(f"to hand out: {path}")
    except OSError as error:
        raise Mistake(f"{options.folder} cannot be written: {error}") from None
    return 0


def settings(folder: Path) -> Config:
    """nbgrader's settings for this folder."""
    config = Config()
    config.CourseDirectory.root = str(folder.resolve())
    settle(config)
    return config


def settle(config: Config) -> None:
    """The course's settings for nbgrader, also for its own commands in such a folder."""
    config.CourseDirectory.course_id = "ddl-teach"
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ExportApp.plugin_class = "ddl_class.grading.exporter.HandedIn"
    # For `nbgrader autograde`: a cell may start engines, and one that hangs costs itself only.
    config.Execute.timeout = SECONDS_A_CELL
    config.Execute.interrupt_on_timeout = True
    config.Execute.iopub_timeout = SECONDS_A_CELL
    config.Execute.startup_timeout = SECONDS_A_CELL
