"""Every way through a notebook runs in a real kernel; the solved way is nbval's.

A cell of a learner may fail in one manner: what was not written yet, or is not right, is named.
`test` goes two ways through each notebook, the solved one and, by its names alone, each reader's
(test_notebook_paths.py); `test --all` runs these as well.
"""

from pathlib import Path

import exercise_sources as sources
import nbformat
import pytest
from mistake_cells import first_mistake
from notebook import notebook
from notebook_paths import on_the_way

from ddl_class.exercises.registry import find_exercise
from ddl_class.release import release

pytestmark = pytest.mark.real

SOURCES = sorted((Path(__file__).resolve().parents[2] / "notebooks/source").glob("*.py"))
DIAGNOSES = "RankFailed", "Deadlock", "TimedOut", "Unreceived", "CollectiveMismatch"
EXPECTED = "CheckFailed", "NotImplementedError", "DiagnosedError", "is not right yet", *DIAGNOSES
IN_TEST = "06_allreduce-unsolved"
PATIENCE = 150  # seconds for a cell


def unsolved(source):
    """All code cells of the notebook that is handed out, with nothing written into it."""
    return [cell for cell in release.learners(source).cells if cell.cell_type == "code"]


def up_to(level):
    """What a reader of this level runs, and solves."""
    return lambda source: on_the_way(level, release.solved(source) or release.instructors(source))


def mistaken(source):
    """All code cells, and after each answer one with a usual mistake in its place."""
    for cell in (release.solved(source) or release.instructors(source)).cells:
        if cell.cell_type == "code":
            yield cell
        if release.exercise_part(cell) == "answer":
            exercise = find_exercise(cell.metadata.name)
            function = sources.checked_function(source, exercise.name)
            yield nbformat.v4.new_code_cell(first_mistake(exercise, function))


WAYS = {
    "unsolved": unsolved,
    "mistaken": mistaken,
    "beginner": up_to("beginner"),
    "intermediate": up_to("intermediate"),
}


def surprises(cells):
    """The cells that fail in another manner than a learner may expect, with what they show.

    What is not written, not right, or hangs is named, also in a cell that uses it.
    """
    surprising = []
    with notebook() as opened:
        for cell in cells:
            status, text = opened.run(cell.source, PATIENCE)
            on_purpose = "raises-exception" in cell.metadata.get("tags", ())
            if status != "ok" and not on_purpose and not any(word in text for word in EXPECTED):
                surprising.append(f"{cell.source}\n-->\n{text}")
    return surprising


@pytest.mark.parametrize(
    ("source", "way"),
    [
        pytest.param(
            source,
            way,
            id=f"{source.stem}-{way}",
            marks=() if f"{source.stem}-{way}" == IN_TEST else pytest.mark.long,
        )
        for source in SOURCES
        for way in WAYS
    ],
)
@pytest.mark.timeout(1200)
def test_a_way_through_a_notebook_runs(source, way, fresh_record, monkeypatch):
    monkeypatch.chdir(source.parents[1])
    surprising = surprises(WAYS[way](source))
    assert not surprising, "\n\n".join(surprising)
