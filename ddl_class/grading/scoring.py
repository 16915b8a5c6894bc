"""One submission's scores: each exercise in sandboxes of its own, judged outside of them."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.check import CheckFailed, judge
from ddl_class.exercises.registry import find_exercise
from ddl_class.grading.assignment import Assignment, GradedExercise
from ddl_class.grading.foreign_text import plain
from ddl_class.grading.sandbox import Limits, SandboxServer
from ddl_class.grading.submission import Answers
from ddl_class.grading.untrusted_stage import UntrustedStage


@dataclass(frozen=True)
class Score:
    """What one exercise earned, and why."""

    exercise: str
    points: float
    of: float
    message: str
    printed: str = ""
    doubtful: bool = False  # the check itself failed or a limit was reached: a person should look
    limit: str = ""  # which limit: "time", "memory" or "time or memory"


def score_answers(
    server: SandboxServer,
    assignment: Assignment,
    answers: Answers,
    seed: int,
    limits: Limits = Limits(),
    earlier: Sequence[Score] = (),
) -> list[Score]:
    """The scores of all exercises; whatever one answer does costs that exercise only.

    Of `earlier` scores those that are doubtful get one more try. To be called while no other
    sandbox runs: what was short of time beside others is not alone.
    """
    before = {score.exercise: score for score in earlier}
    scores = []
    for exercise in assignment.exercises:
        score = before.get(exercise.name)
        if score is None or score.doubtful:
            now = _score(server, assignment, exercise, answers, seed, limits)
            score = now if score is None else _second(score, now)
        scores.append(score)
    return scores


def _second(first: Score, second: Score) -> Score:
    """The second score, which says so where a limit was reached both times."""
    if not (first.limit and second.limit):
        return second
    twice = first.limit == second.limit
    what = f"The {first.limit} was used up "
    what += "twice" if twice else f"at first, then the {second.limit}"
    what += ", the second time with no other submission beside it. A person should look at it."
    return replace(second, message=f"{second.message}\n\n{what}")


def no_scores(assignment: Assignment, why: str) -> list[Score]:
    """What a submission earns that cannot be read."""
    return [Score(one.name, 0.0, one.points, why) for one in assignment.exercises]


def _score(
    server: SandboxServer,
    assignment: Assignment,
    exercise: GradedExercise,
    answers: Answers,
    seed: int,
    limits: Limits,
) -> Score:
    if exercise.name not in answers:
        what = f"there is no answer cell and no function {exercise.function} in the notebook"
        return Score(exercise.name, 0.0, exercise.points, what)
    own = [(f"the answer to {exercise.name}", answers[exercise.name])]
    handed_out = [
        (f"code cell {place} as handed out", source)
        for place, source in enumerate(assignment.handed_out, start=1)
    ]
    around = [*answers.around(exercise.name), handed_out]
    allowed = find_exercise(exercise.name).library
    with UntrustedStage(server, own, exercise.function, limits, around, allowed) as stage:
        points, message, doubtful = 0.0, "right", False
        try:
            _run_the_check(exercise, stage, seed)
            points = exercise.points
        except CheckFailed as failed:
            message, doubtful = str(failed), bool(stage.limit)
        except Mistake:
            raise
        except Exception as error:  # values that nobody foresaw, or a defect of the check
            doubtful = True
            message = (
                "the check itself failed on what the function left behind, so a person should "
                f"look at it ({type(error).__name__}: {error})"
            )
    limit = stage.limit if doubtful else ""
    told = plain(message), stage.printed, doubtful, limit
    return Score(exercise.name, points, exercise.points, *told)


def _run_the_check(exercise: GradedExercise, stage: UntrustedStage, seed: int) -> None:
    """Run the instructor's cell, in which the learner's function is a stage."""

    def secretly(name: str, stage: UntrustedStage, ranks: Sequence[int] = (), **own: Any) -> None:
        # With a seed that can be guessed a rank would know what the others were given.
        judge(name, stage, ranks, [seed, own.get("seed", 0)])

    names = {"check": secretly, "judge": secretly, "np": np, "engines": None}
    names[exercise.function] = stage
    program = ast.parse(exercise.checking)
    program.body = [  # the classroom's check and judge shall not take the place of the grader's
        line
        for line in program.body
        if not (isinstance(line, ast.ImportFrom) and line.module == "ddl_class")
    ]
    exec(compile(program, f"the check of {exercise.name}", "exec"), names)
