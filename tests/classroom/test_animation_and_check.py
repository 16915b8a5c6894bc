"""`animate` and `check` never disagree: what one calls wrong the other does not show as right.

An animation shows whether the sum is right. That a right sum came by another algorithm than the
one that was asked for, only `check` minds.
"""

import exercise_sources as sources
import mistakes_06
import numpy as np
import pytest

from ddl_class.exercises.check import misuse, verdict
from ddl_class.exercises.registry import find_exercise, units
from ddl_class.exercises.stages import SimulatedStage
from ddl_class.notebook.animation import animate
from ddl_class.plots.steps import finding
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_teach.collectives import native

SHOWN = {  # as the notebooks show them: with so many ranks, and another goal than the whole sum
    "06.pass_round": (4, "allreduce"),
    "06.reduce_scatter": (4, "reduce_scatter"),
    "06.ring": (4, "allreduce"),
    "06.swap": (4, "allreduce"),
    "06.recursive_doubling": (6, "allreduce"),
    "06.rabenseifner": (4, "allreduce"),
}
ANOTHER_WAY = (  # words of `check` for a right sum, by another algorithm than was asked for
    "by another algorithm", "not by a ring", "Whole vectors travel", "is recursive doubling",
    "The chunks are right, but", "there is none",
)  # fmt: skip
MISTAKES = [
    (name, function, words)
    for name, function, words in mistakes_06.MISTAKES
    if name in SHOWN and function is not native.allreduce  # sends nothing that could be shown
]


def shown(name, function):
    """What is wrong by `animate`, None if nothing is."""
    ranks, goal = SHOWN[name]
    try:
        steps = animate(function, ranks, goal=goal).steps
    except DiagnosedError as error:
        return error
    if steps.error is not None:
        return steps.error
    return finding(steps) if "is wrong" in finding(steps) else None


def checked(name, function):
    """What is wrong by `check` on as many ranks, None if nothing is."""
    ranks, _ = SHOWN[name]
    exercise, stage = find_exercise(name), SimulatedStage(function)
    return misuse(exercise, function) or verdict(
        exercise, stage, np.random.default_rng(1), [ranks]
    )


def test_all_exercises_whose_answer_is_an_all_reduce_are_here():
    adding = {
        exercise.name
        for unit in units()
        for exercise in unit.exercises
        if exercise.parameters == ("comm", "x") and exercise.ranks  # a puzzle has its own machine
    }
    others = {
        "15.server",
        "06.bruck",
        "06.dissemination",
        "21.to_heads",
        "22.agree",
        "23.switch",
        "23.direct",
        "25.differ",
    }  # the workers' mean, an all-gather, a barrier, an all-to-all, a maximum, sums in a switch
    # and to all at once, a comparison of bits
    assert adding - others == SHOWN.keys()


@pytest.mark.parametrize("name", SHOWN)
def test_a_right_answer_is_right_in_both(name):
    solution = sources.function(sources.source_of(name), name)
    assert checked(name, solution) is None
    assert shown(name, solution) is None


@pytest.mark.parametrize(
    ("name", "function", "words"), MISTAKES, ids=[f"{m[0]} {m[2][:25]}" for m in MISTAKES]
)
def test_a_usual_mistake_is_wrong_in_both(name, function, words):
    by_check, by_picture = checked(name, function), shown(name, function)
    another_way = by_check is None or any(some in by_check for some in ANOTHER_WAY)
    assert (by_picture is None) == another_way, (by_check, by_picture)
    if isinstance(by_picture, DiagnosedError):
        assert (by_picture.exception or str(by_picture).splitlines()[0]) in by_check
