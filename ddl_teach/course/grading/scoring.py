"""One submission's scores: each exercise in sandboxes of its own, judged outside of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ddl_teach.course.exercises.check import CheckFailed, judge
from ddl_teach.course.grading.assignment import Assignment, GradedExercise
from ddl_teach.course.grading.plain_text import plain
from ddl_teach.course.grading.sandbox import Limits, Nursery
from ddl_teach.course.grading.untrusted_stage import UntrustedStage
from ddl_teach.course.mistake import Mistake


@dataclass(frozen=True)
class Score:
    """What one exercise earned, and why."""

    exercise: str
    points: float
    of: float
    message: str
    printed: str = ""
    doubtful: bool = False  # the check itself failed: somebody should look at it


def score_answers(
    nursery: Nursery,
    assignment: Assignment,
    answers: Mapping[str, str],
    seed: int,
    limits: Limits = Limits(),
) -> list[Score]:
    """The scores of all exercises; whatever one answer does costs that exercise only."""
    return [
        _score(nursery, assignment, one, answers, seed, limits) for one in assignment.exercises
    ]


def no_scores(assignment: Assignment, why: str) -> list[Score]:
    """What a submission earns that cannot be read."""
    return [Score(one.name, 0.0, one.points, why) for one in assignment.exercises]


def _score(
    nursery: Nursery,
    assignment: Assignment,
    exercise: GradedExercise,
    answers: Mapping[str, str],
    seed: int,
    limits: Limits,
) -> Score:
    if exercise.name not in answers:
        what = f"there is no answer cell and no function {exercise.function} in the notebook"
        return Score(exercise.name, 0.0, exercise.points, what)
    cells = assignment.cells(exercise, answers)
    with UntrustedStage(nursery, cells, exercise.function, limits) as stage:
        points, message, doubtful = 0.0, "right", False
        try:
            _run_the_check(exercise, stage, seed)
            points = exercise.points
        except CheckFailed as failed:
            message = plain(str(failed))
        except Mistake:
            raise
        except Exception as error:  # values that nobody foresaw, or a defect of the check
            doubtful = True
            message = plain(
                "the check itself failed on what the function left behind, so a person should "
                f"look at it ({type(error).__name__}: {error})"
            )
        of = exercise.points
        return Score(exercise.name, points, of, message, stage.printed, doubtful)


def _run_the_check(exercise: GradedExercise, stage: UntrustedStage, seed: int) -> None:
    """Run the instructor's cell, in which the learner's function is a stage."""

    def secretly(name: str, stage: UntrustedStage, ranks: Sequence[int] = (), **own: int) -> None:
        # With a seed that can be guessed a rank would know what the others were given.
        judge(name, stage, ranks, [seed, own.get("seed", 0)])

    names = {"check": secretly, "judge": secretly, "np": np, exercise.function: stage}
    program = ast.parse(exercise.checking)
    program.body = [line for line in program.body if not _brings_the_classroom(line)]
    exec(compile(program, f"the check of {exercise.name}", "exec"), names)


def _brings_the_classroom(line: ast.stmt) -> bool:
    """Whether it would put the classroom's check and judge in the place of the grader's."""
    return isinstance(line, ast.ImportFrom) and line.module == "ddl_teach.course"
