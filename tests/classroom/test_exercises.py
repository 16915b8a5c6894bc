"""Every exercise of every unit, found in the sources: what must fail does, and says why."""

import importlib
import math
import re
from itertools import chain
from pathlib import Path

import exercise_sources as sources
import numpy as np
import pytest

from ddl_class.exercises.check import CheckFailed, check, misuse, verdict
from ddl_class.exercises.kit.formulas import FormulaJudge
from ddl_class.exercises.registry import find_exercise, units
from ddl_class.exercises.stages import EnginesStage, SimulatedStage
from ddl_class.grading.inside.notebook import AnswerFunction
from ddl_class.grading.inside.project import Imports
from ddl_class.release import release

EXERCISES = [exercise for unit in units() for exercise in unit.exercises]
PREDICTIONS = [prediction for unit in units() for prediction in unit.predictions]
MISTAKES = [
    mistake
    for path in sorted(Path(__file__).parent.glob("mistakes_*.py"))
    for mistake in importlib.import_module(path.stem).MISTAKES
]

pytestmark = [pytest.mark.usefixtures("fresh_record"), pytest.mark.slow]

each = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)


def failure(exercise, function):
    """What `check` says of a function that is not right."""
    with pytest.raises(CheckFailed) as failed:
        check(exercise.name, function)
    return str(failed.value)


def test_registry_and_sources_have_the_same_exercises():
    in_sources = [
        (name, kind) for path in sources.sources_with_exercises()
        for name, kind, _ in sources.named_cells(path)
    ]  # fmt: skip
    assert len(set(in_sources)) == len(in_sources)
    wanted = {(exercise.name, kind) for exercise in EXERCISES for kind in ("answer", "check")}
    assert set(in_sources) == wanted


@pytest.mark.parametrize("unit", units(), ids=lambda unit: unit.number)
def test_each_exercise_stands_in_a_notebook_of_its_unit_in_this_order(unit):
    each = map(sources.named_cells, sources.sources_of(unit.number))
    assert [name for name, kind, _ in chain(*each) if kind == "answer"] == [
        exercise.name for exercise in unit.exercises
    ]
    assert all(exercise.unit == unit.number for exercise in unit.exercises)


@pytest.mark.parametrize("unit", units(), ids=lambda unit: unit.number)
def test_a_unit_has_five_exercises_two_warm_ups_lines_in_order_and_a_puzzle(unit):
    exercises = unit.exercises
    assert len(exercises) >= 5
    assert sum(exercise.points == 1 for exercise in exercises) >= 2
    assert any(exercise.order for exercise in exercises)
    assert any(not math.isnan(exercise.best_known) for exercise in exercises)


@pytest.mark.parametrize("prediction", PREDICTIONS, ids=lambda prediction: prediction.name)
def test_each_prediction_is_asked_for_before_it_is_revealed(prediction):
    text = sources.source_of(prediction.name).read_text()
    asked, revealed = (text.find(f'{verb}("{prediction.name}"') for verb in ("predict", "reveal"))
    assert 0 < asked < revealed


def test_a_notebook_asks_for_no_other_predictions():
    known = {prediction.name for prediction in PREDICTIONS}
    for path in sources.sources_with_exercises():
        asked = re.findall(r'(?<![.\w])(?:predict|reveal)\("([^"]+)"', path.read_text())
        assert set(asked) <= known


@each
@pytest.mark.sampled(3)
def test_the_stub_is_told_to_be_written(exercise):
    path = sources.source_of(exercise.name)
    code = sources.code_of(sources.stubs(path), exercise.name, "answer")
    assert "raise NotImplementedError" in code
    assert len(code.splitlines()) <= 10
    message = failure(exercise, sources.function(path, exercise.name, code))
    assert "not written yet" in message
    assert f'hint("{exercise.name}")' in message


@each
def test_the_stub_says_what_is_asked(exercise):
    path = sources.source_of(exercise.name)
    code = sources.code_of(sources.stubs(path), exercise.name, "answer")
    function = sources.function(path, exercise.name, code)
    assert function.__doc__
    assert misuse(exercise, function) is None


@each
@pytest.mark.sampled(2)
def test_doing_nothing_fails(exercise):
    path = sources.source_of(exercise.name)
    code = sources.code_of(sources.stubs(path), exercise.name, "answer")
    nothing = sources.function(
        path, exercise.name, code.replace("raise NotImplementedError", "...")
    )
    assert "not written yet" not in failure(exercise, nothing)


@each
@pytest.mark.sampled(8)
def test_the_solution_passes_on_simulated_and_real_ranks(exercise, pool, capsys):
    solution = sources.function(sources.source_of(exercise.name), exercise.name)
    check(exercise.name, solution, engines=pool if exercise.ranks else None)
    assert f"✓ {exercise.name}" in capsys.readouterr().out


class Noting(SimulatedStage):
    """Notes what a judge asks."""

    def call(self, *arguments):
        self.asked.append(repr(arguments))
        return super().call(*arguments)

    def run(self, ranks, arguments, **options):
        self.asked.append(repr(arguments))
        return super().run(ranks, arguments, **options)


@pytest.mark.parametrize(
    "exercise",
    [exercise for exercise in EXERCISES if isinstance(exercise.judge, FormulaJudge)],
    ids=lambda exercise: exercise.name,
)
@pytest.mark.sampled(3)
def test_a_table_of_formulas_asks_something_else_with_another_seed(exercise):
    stage = Noting(sources.function(sources.source_of(exercise.name), exercise.name))

    def asked(seed):
        stage.asked = []
        assert verdict(exercise, stage, np.random.default_rng(seed), exercise.ranks[:1]) is None
        return stage.asked

    assert asked(1) != asked(2)


@each
def test_the_solution_passes_where_it_is_made_as_graders_make_it(exercise):
    path = sources.source_of(exercise.name)
    parts = [
        (cell.source, release.exercise_part(cell) and cell.metadata.name)
        for cell in sources.instructors(path).cells
        if cell.cell_type == "code" and release.exercise_part(cell) != "check"
    ]
    own = [("the answer", text) for text, name in parts if name == exercise.name]
    others = [("a cell", text) for text, name in parts if name != exercise.name]
    name = sources.checked_function(path, exercise.name)
    answer = AnswerFunction.chosen(own, [others], name)
    stage = SimulatedStage(None, 200.0, lambda: answer.make(Imports(exercise.library)))
    assert verdict(exercise, stage, np.random.default_rng(), exercise.ranks[:2]) is None


@each
@pytest.mark.sampled(4)
def test_the_solution_passes_the_hidden_tests(exercise):
    path = sources.source_of(exercise.name)
    code = sources.code_of(sources.named_cells(path), exercise.name, "check")
    assert "### BEGIN HIDDEN TESTS" in code
    hidden = code.partition("### BEGIN HIDDEN TESTS")[2]
    exec(hidden, sources.names_after(path))
    # For whoever wrote nothing the hidden tests are no gift, even without the check before them.
    stub = sources.code_of(sources.stubs(path), exercise.name, "answer")
    unwritten = sources.names_after(path, exercise.name, stub)
    with pytest.raises(CheckFailed):
        exec(hidden, unwritten)


def inputs(exercise, seed):
    """What the judge gives to the solution, by its shape and bytes."""
    solution = sources.function(sources.source_of(exercise.name), exercise.name)
    stage = Recording(solution, seconds=200.0)
    counts = [count for count in exercise.ranks if count <= 4]
    assert verdict(exercise, stage, np.random.default_rng(seed), counts) is None
    return stage.given


class Recording(SimulatedStage):
    """A stage that notes what functions are given."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.given = []

    def call(self, *arguments):
        self.given.append(repr(arguments))
        return super().call(*arguments)

    def run(self, ranks, arguments, **network):
        self.given.append(repr((ranks, arguments)))
        return super().run(ranks, arguments, **network)


# Numbers of ranks are all that is asked: `check` draws one more of them each time.
RANKS_ALONE = {"00.neighbours", "07.own_gpu"}
FIXED_MACHINE = [exercise for exercise in EXERCISES if not math.isnan(exercise.best_known)]
DRAWN = [e for e in EXERCISES if e not in FIXED_MACHINE and e.name not in RANKS_ALONE]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("exercise", DRAWN, ids=lambda exercise: exercise.name)
def test_another_seed_asks_something_else(exercise):
    assert inputs(exercise, 1) != inputs(exercise, 2)


@each
def test_its_hints_are_two_or_three_different_ones(exercise):
    assert len(set(exercise.hints)) == len(exercise.hints) in (2, 3)
    assert all(hint.strip() for hint in exercise.hints)
    assert exercise.points > 0
    assert exercise.right.endswith(".")


@pytest.mark.parametrize(
    ("name", "function", "words"), MISTAKES, ids=[f"{m[0]} {m[2][:25]}" for m in MISTAKES]
)
@pytest.mark.sampled(3)
def test_the_usual_mistake_is_named(name, function, words, pool):
    exercise = find_exercise(name)
    message = misuse(exercise, function)
    for stage in (SimulatedStage(function), EnginesStage(function, pool)):
        # Some go wrong on real ranks only, where a long message waits for its receiver.
        counts = [count for count in exercise.ranks if count <= pool.size]
        message = message or verdict(exercise, stage, np.random.default_rng(1), counts)
    assert message is not None
    assert words in message


ODD = (10**400, "x", b"x", True, 1j, math.nan, [[1, 2], [3]], (np.zeros(3), np.zeros((2, 2))), {})


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(
    "exercise",
    [exercise for exercise in EXERCISES if not exercise.ranks],  # ranks leave theirs in arrays
    ids=lambda exercise: exercise.name,
)
@pytest.mark.sampled(3)
def test_whatever_comes_back_is_answered_with_a_message(exercise, odd):
    stage = SimulatedStage(lambda *_: odd)
    assert verdict(exercise, stage, np.random.default_rng(1), ())


@each
def test_usual_mistakes_of_it_are_known(exercise):
    assert any(name == exercise.name for name, _, _ in MISTAKES)
