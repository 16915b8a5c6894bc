"""What a prediction is laid beside says where it comes from, in every unit."""

import ast
import subprocess
import sys
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
        "engines", "ground", "side_by_side", "measure", "sweep", "run_on_threads", "diagnosis",
        "Digits", "DigitsTraining", "by_definition", "gradient_error",
        "recorded",  # then `test_quoted_results` ties it to the measurement
    },
    "simulated": {"simulate", "greedy", "finish", "batching"},
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
    for cell in sources.instructors(sources.source_of(prediction.name)).cells:
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


def test_without_a_prediction_it_is_asked_for_once(shown, capsys):
    reveal("06.many", 3)
    asked = " ".join(capsys.readouterr().out.split())
    assert "how many times" in asked.lower()
    assert 'Write predict("06.many", your number)' in asked
    reveal("06.many", 3)
    assert capsys.readouterr().out == "You made no prediction; computed 3 times.\n"
    [picture] = shown
    assert [label.get_text() for label in picture.axes[0].get_yticklabels()] == ["computed"]
    assert picture.axes[0].get_title("left") == "You made no prediction; computed 3 times"


def test_who_is_asked_may_still_predict(shown, capsys):
    reveal("06.many", 3)
    predict("06.many", 2)
    reveal("06.many", 3)
    assert "You said 2, computed 3 times" in capsys.readouterr().out
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("value", "words"),
    [(2, "You said 2 times, and have seen"), (9, "what you said before it counts: 2 times")],
)
def test_what_was_said_before_the_answer_counts(value, words, shown, capsys):
    predict("06.many", 1)
    predict("06.many", 2)
    reveal("06.many", 3)
    predict("06.many", value)
    assert words in capsys.readouterr().out
    reveal("06.many", 3)
    assert "You said 2, computed 3" in capsys.readouterr().out


def test_what_is_said_after_the_answer_does_not_count(capsys):
    reveal("06.many", 3)
    reveal("06.many", 3)
    predict("06.many", 3)
    assert "You have seen the answer, so this number does not count" in capsys.readouterr().out
    predictions.predictions("06")
    assert "There is no prediction of yours here yet" in capsys.readouterr().out


def test_at_the_end_all_of_a_unit_stand_in_one_picture(shown):
    for name, value, truth in (("05.latency", 3, 2), ("05.incast", 30, 10)):
        predict(name, value)
        reveal(name, truth)
    predict("05.half_bandwidth", 4)  # not yet found
    predictions.predictions("05")
    [axes] = shown[-1].axes
    assert axes.get_title("left") == "1 of 2 predictions were close"
    assert [row.get_text() for row in axes.get_yticklabels()] == ["05.latency", "05.incast"]
    places = [(line.get_label(), *map(float, line.get_xdata())) for line in axes.get_lines()[1:]]
    assert places == [("measured", 1), ("you", 1.5), ("simulated", 1), ("you", 3)]


@pytest.mark.parametrize(
    ("value", "truth", "factor"), [(0, 2, 0.01), (2, 0, 100), (0, 0, 1), (10**9, 1, 100)]
)
def test_what_is_far_off_is_drawn_at_the_edge(value, truth, factor, shown):
    predict("05.incast", value)
    reveal("05.incast", truth)
    predictions.predictions("05")
    [you] = [line for line in shown[-1].axes[0].get_lines() if line.get_label() == "you"]
    assert list(you.get_xdata()) == [factor]
    close = f"{int(factor == 1)} of 1 predictions were close"
    assert shown[-1].axes[0].get_title("left") == close


def test_a_unit_that_does_not_exist_is_named():
    with pytest.raises(Mistake, match="no unit has the number '5'"):
        predictions.predictions("5")


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
        ("00.in_order", -7, "00.in_order: -7 of 50 times is impossible. Write 0 to 50"),
        ("00.in_order", 51, "00.in_order: 51 of 50 times is impossible. Write 0 to 50"),
        ("06.crossover", -1, "06.crossover: -1 bytes is impossible. Write 0 or more"),
        ("11.weights", 100.5, "11.weights: 100.5 percent is impossible. Write 0 to 100"),
    ],
)
def test_a_prediction_that_cannot_be_is_refused(name, value, words):
    with pytest.raises(Mistake, match=words):
        predict(name, value)


def test_the_share_of_the_weights_is_that_of_what_was_asked():
    """Weights, gradients and optimizer states were asked for, and not the activations."""
    path = sources.source_of("11.weights")
    [cell] = [it.source for it in sources.instructors(path).cells if "100 * held" in it.source]
    held = HeldBytes(weights=2, gradients=2, states=12, activations=1000)
    run = SimpleNamespace(results=[SimpleNamespace(held=held)])
    revealed = {}
    names = {"run": run, "reveal": revealed.__setitem__}
    exec(cell[cell.index("held =") :], names)
    assert revealed == {"11.weights": 12.5}


MISTYPED = """
import sys
from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.registry import find_prediction
try:
    find_prediction("06.mani")
except Mistake as mistake:
    print(mistake)
print({name.split(".")[2] for name in sys.modules if name.endswith("judges")})
"""


def test_a_mistyped_name_is_answered_without_any_judges():
    # These take seconds to load, and a learner waits.
    command = [sys.executable, "-c", MISTYPED]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "no prediction is called '06.mani'. Did you mean '06.many'" in text
    assert text.endswith("set()\n")
