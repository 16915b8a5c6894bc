"""What a prediction is laid beside says where it comes from, in every unit."""

import ast
from types import SimpleNamespace
from typing import get_args

import exercise_sources as sources
import pytest

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises import predictions
from ddl_class.exercises.exercise import Kind
from ddl_class.exercises.predictions import predict, reveal
from ddl_class.exercises.registry import units
from ddl_teach.theory.memory import HeldBytes

PREDICTIONS = [prediction for unit in units() for prediction in unit.predictions]

# What a notebook's number must come from, for what the learner is told.
SOURCES = {
    "measured": {
        "engines", "ground", "side_by_side", "measure", "sweep", "run_on_threads", "story",
        "Digits", "DigitsTraining", "by_definition", "gradient_error",
    },
    "simulated": {"simulate", "greedy"},
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("fresh_record")

each = pytest.mark.parametrize("prediction", PREDICTIONS, ids=lambda it: it.name)


@pytest.fixture
def shown(monkeypatch):
    """The pictures that were displayed."""
    pictures = []
    monkeypatch.setattr(predictions, "show", pictures.append)
    return pictures


def statements(prediction):
    """The statements of the notebook up to where the prediction is revealed, and that call."""
    found = []
    for cell in sources.instructors(sources.source_of(prediction.name.partition(".")[0])).cells:
        if cell.cell_type != "code":
            continue
        try:
            body = ast.parse(cell.source).body
        except SyntaxError:  # a cell for all engines
            continue
        for statement in body:
            found.append(statement)
            calls = (it for it in ast.walk(statement) if isinstance(it, ast.Call))
            for call in calls:
                named = ast.unparse(call.func), *map(ast.unparse, call.args[:1])
                if named == ("reveal", repr(prediction.name)):
                    return found, call
    raise AssertionError(f"{prediction.name} is not revealed")


def names(node, context):
    return {
        it.id for it in ast.walk(node) if isinstance(it, ast.Name) and isinstance(it.ctx, context)
    }


def made_from(prediction):
    """All names that the revealed number was made from, directly or not."""
    before, call = statements(prediction)
    needed = set().union(*(names(argument, ast.Load) for argument in call.args[1:]))
    found = set(needed)
    for statement in reversed(before):
        filled = {
            it.value.id for it in ast.walk(statement)
            if isinstance(it, ast.Subscript) and isinstance(it.ctx, ast.Store)
            and isinstance(it.value, ast.Name)
        }  # fmt: skip
        defined = getattr(statement, "name", None)
        if needed & (names(statement, ast.Store) | filled | {defined}):
            if isinstance(statement, ast.Assign):
                needed -= names(statement, ast.Store)
            needed |= names(statement, ast.Load)
            found |= names(statement, ast.Load)
    return found


@each
def test_it_says_where_its_number_comes_from(prediction):
    assert prediction.kind in get_args(Kind)


@each
def test_the_notebook_finds_the_number_as_the_prediction_says(prediction):
    _, call = statements(prediction)
    assert not call.keywords
    if prediction.kind in SOURCES:
        assert made_from(prediction) & SOURCES[prediction.kind]


@each
def test_the_words_and_the_picture_say_it_too(prediction, shown, capsys):
    predict(prediction.name, 1)
    reveal(prediction.name, 2)
    words = f"You said 1, {prediction.kind} 2 {prediction.quantity}"
    assert words in capsys.readouterr().out
    [picture] = shown
    assert words in picture.axes[0].get_title("left")
    labels = [label.get_text() for label in picture.axes[0].get_yticklabels()]
    assert labels == ["you", prediction.kind]
    assert picture.axes[0].yaxis_inverted(), "the first row is the upper one"


def test_a_run_may_find_it_in_another_way_and_says_so(shown, capsys):
    predict("20.slow", 4)
    reveal("20.slow", 10, "computed")
    assert "You said 4, computed 10 times" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["00.in_order", "06.crossover"])
@pytest.mark.parametrize("value", ["many", True, float("nan"), [3]])
def test_a_prediction_is_a_number(name, value):
    with pytest.raises(Mistake, match=rf"{name} needs a number \((of 50 times|bytes)\), not "):
        predict(name, value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("00.in_order", -7, r"00.in_order is 0 to 50 \(of 50 times\); you wrote -7"),
        ("00.in_order", 51, r"00.in_order is 0 to 50 \(of 50 times\); you wrote 51"),
        ("06.crossover", -1, r"06.crossover is 0 or more \(bytes\); you wrote -1"),
        ("11.weights", 100.5, r"11.weights is 0 to 100 \(percent\); you wrote 100.5"),
    ],
)
def test_a_prediction_that_cannot_be_is_refused(name, value, words):
    with pytest.raises(Mistake, match=words):
        predict(name, value)


def test_the_share_of_the_weights_is_that_of_what_was_asked():
    """Weights, gradients and optimizer states were asked for, and not the activations."""
    path = sources.source_of("11")
    [cell] = [it.source for it in sources.instructors(path).cells if "100 * held" in it.source]
    held = HeldBytes(weights=2, gradients=2, states=12, activations=1000)
    run = SimpleNamespace(results=[SimpleNamespace(held=held)])
    revealed = {}
    names = {"run": run, "reveal": revealed.__setitem__}
    exec(cell[cell.index("held =") :], names)
    assert revealed == {"11.weights": 12.5}
