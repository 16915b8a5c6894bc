"""Every exercise's solution has all its points where answers are graded."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from behind_walls import nursery_or_skip

from ddl_class.exercises.registry import units
from ddl_class.grading.sandbox import Limits
from ddl_class.grading.scoring import score_answers
from ddl_class.grading.submission import Answers, read_assignment
from ddl_class.release import release

pytestmark = pytest.mark.slow

SOURCES = Path(__file__).resolve().parents[3] / "notebooks" / "source"
BESIDE = "# compare with.halo, ring.allreduce and all.reduce\n"  # costs nothing


@cache
def graded(exercise):
    """The assignment that has this exercise, and the solutions as answers."""
    checked, unit = f'check("{exercise}"', exercise.partition(".")[0]
    [source] = [path for path in SOURCES.glob(f"{unit}_*.py") if checked in path.read_text()]
    cells = release.instructors(source).cells
    answers = [cell for cell in cells if release.exercise_part(cell) == "answer"]
    return read_assignment(source), {one.metadata.name: BESIDE + one.source for one in answers}


@pytest.fixture(scope="module")
def one_nursery():
    with nursery_or_skip() as nursery:
        yield nursery


@pytest.mark.parametrize("exercise", [one.name for unit in units() for one in unit.exercises])
@pytest.mark.sampled(24)
def test_a_solution_has_all_its_points(one_nursery, exercise):
    assignment, solutions = graded(exercise)
    alone = replace(
        assignment, exercises=[one for one in assignment.exercises if one.name == exercise]
    )
    [score] = score_answers(one_nursery, alone, Answers(solutions), 1, Limits(seconds=200))
    assert score.points == score.of, score.message
