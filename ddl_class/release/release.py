"""From one source the learner's notebook, the solved one and nbgrader's.

A source is the instructor's version, as plain Python (jupytext's py:percent). Two cells of it
belong to each exercise, known by their name and tag:

    # %% name="06.ring" tags=["answer"]
    the function; its solution between ### BEGIN SOLUTION and ### END SOLUTION

    # %% name="06.ring" tags=["check"]
    check("06.ring", ...); what only the grader tries between ### BEGIN HIDDEN TESTS and
    ### END HIDDEN TESTS

nbgrader's own steps then make a stub of each solution, remove the hidden tests and lock the cells
that check, so that the learner's notebook can be handed in and graded as it is. Always the same
bytes come out, and a cell keeps its id when others are put before it.
"""

import hashlib
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.registry import find_exercise

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
            cell.metadata.nbgrader = _nbgrader_metadata(cell, kind)
    CheckCellMetadata().preprocess(notebook, {})
    return notebook


def exercise_part(cell: NotebookNode) -> str | None:
    """Whether a cell is the "answer" or the "check" of an exercise, or neither."""
    tags = cell.metadata.get("tags", ())
    return next((kind for kind in ("answer", "check") if kind in tags), None)


def learners(source: Path) -> NotebookNode:
    """The notebook that is handed out: stubs in place of solutions, no hidden tests."""
    stubs = ClearSolutions(code_stub={"python": STUB})
    notebook = instructors(source)
    try:
        for step in (LockCells(), stubs, ClearHiddenTests(), ComputeChecksums()):
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


def _nbgrader_metadata(cell: NotebookNode, kind: str) -> dict[str, object]:
    answer = kind == "answer"
    what = {"solution": answer, "grade": not answer, "locked": not answer, "task": False}
    metadata = {"cell_type": "code", "grade_id": cell.id, "schema_version": 3} | what
    return metadata if answer else metadata | {"points": find_exercise(cell.metadata.name).points}
