"""Exercises that ask for the order of lines: what a cell holds, and that wrong lines are wrong."""

import difflib

import exercise_sources as sources
import numpy as np
import pytest

from ddl_class.exercises.check import verdict
from ddl_class.exercises.registry import units
from ddl_class.exercises.stages import SimulatedStage
from ddl_class.release import release

ORDERS = [exercise for unit in units() for exercise in unit.exercises if exercise.order]
SAID = {1: "one of them belongs nowhere", 2: "two of them belong nowhere"}

each = pytest.mark.parametrize("exercise", ORDERS, ids=lambda exercise: exercise.name)


def answer_of(exercise, cells=sources.named_cells):
    return sources.code_of(cells(sources.source_of(exercise.name)), exercise.name, "answer")


def solution(exercise):
    """The lines of the solution."""
    begun = answer_of(exercise).partition("### BEGIN SOLUTION\n")[2]
    return begun.partition("    ### END SOLUTION")[0].splitlines()


@each
def test_the_cell_holds_the_solution_s_lines_and_the_wrong_ones_in_another_order(exercise):
    cell = answer_of(exercise, sources.stubs).splitlines()
    shown = [line.removeprefix("    # ") for line in cell if line.startswith("    # ")]
    right = [line.strip() for line in solution(exercise)]
    assert shown == sorted([*right, *exercise.order])
    assert [line for line in shown if line in right] != right
    assert 4 <= len(right) <= 8
    assert not set(right) & {*exercise.order}


@each
def test_the_solved_notebook_has_the_solution_alone(exercise):
    cells = release.solved(sources.source_of(exercise.name)).cells
    (cell,) = [cell for cell in cells if cell.id == f"{exercise.name.replace('.', '-')}-answer"]
    assert cell.source.splitlines()[2:] == solution(exercise)


@each
def test_the_words_above_say_how_many_lines_belong_nowhere(exercise):
    cells = sources.instructors(sources.source_of(exercise.name)).cells
    place = next(n for n, cell in enumerate(cells) if cell.metadata.get("name") == exercise.name)
    assert SAID[len(exercise.order)] in " ".join(cells[place - 1].source.split())


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [(exercise, line) for exercise in ORDERS for line in exercise.order],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_wrong_line_is_wrong_in_place_of_the_one_that_it_resembles(exercise, wrong):
    right = [line.strip() for line in solution(exercise)]
    (resembled,) = difflib.get_close_matches(wrong, right, n=1, cutoff=0)
    code = answer_of(exercise).replace(f" {resembled}\n", f" {wrong}\n")
    assert code != answer_of(exercise)
    function = sources.function(sources.source_of(exercise.name), exercise.name, code)
    generator = np.random.default_rng(1)
    assert verdict(exercise, SimulatedStage(function), generator, exercise.ranks) is not None
