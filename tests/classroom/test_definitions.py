"""A definition is folded, comes after its exercise is solved, and can be read everywhere."""

import ast
import html
import re
from itertools import chain
from pathlib import Path

import exercise_sources as sources
import pytest

from book.outputs import as_html
from ddl_class import check, definition
from ddl_class.commands.mistake import Mistake
from ddl_class.exercises import definitions, record
from ddl_class.exercises.definitions import ANSWERS, COMPARE, Definition
from ddl_class.exercises.registry import find_exercise
from ddl_teach import plain

ROOM = Path(plain.__file__).parent
UNITS = {
    "02": ["direct_convolution", "im2col", "winograd", "fft_convolution"],
    "10": ["gpipe", "one_f_one_b", "message_driven"],
    "14": ["stale_synchronous", "hogwild", "local_sgd", "elastic_averaging"],
    "15": ["parameter_server", "gossip"],
}

pytestmark = pytest.mark.usefixtures("fresh_record")


@pytest.fixture
def shown(monkeypatch):
    """What was displayed."""
    things = []
    monkeypatch.setattr(definitions, "show", things.append)
    return things


def calls(unit, function):
    """The first argument of each call in a unit's notebooks, with the number of the cell."""
    notebooks = map(sources.instructors, sources.sources_of(unit))
    cells = chain.from_iterable(notebook.cells for notebook in notebooks)
    for number, cell in enumerate(cells):
        if cell.cell_type == "code":
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
                    yield ast.literal_eval(node.args[0]), number


def gpipe_order(rank, ranks, micro_batches):
    return [f"{way}{m}" for way in "FB" for m in range(micro_batches)]


def bundle(name):
    source = (ROOM / f"{name}.py").read_text().strip()
    return Definition(name, COMPARE.get(name, ""), source)._repr_mimebundle_()


def test_every_file_of_the_room_can_be_shown():
    assert set(ANSWERS) == {path.stem for path in ROOM.glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("name", [name for name in ANSWERS if ANSWERS[name]])
def test_what_answers_an_exercise_waits_for_it(name, shown, capsys):
    exercise = find_exercise(ANSWERS[name]).name
    definition(name)
    assert shown == []
    told = capsys.readouterr().out
    assert f"Solve {exercise} first" in told
    assert f'\n    definition("{name}", anyway=True)\n' in told
    with record.changing() as kept:
        record.of(kept, "exercises", exercise)["solved"] = True
    definition(name)
    assert [it.name for it in shown] == [name]


def test_a_check_opens_it_only_where_the_answer_is_right(shown):
    with pytest.raises(Exception, match=r"10\.gpipe"):
        check("10.gpipe", lambda rank, ranks, micro_batches: [])
    definition("gpipe")
    assert shown == []
    check("10.gpipe", gpipe_order)
    definition("gpipe")
    assert [it.name for it in shown] == ["gpipe"]


def test_it_can_be_seen_anyway(shown):
    definition("gossip", anyway=True)
    assert shown[0].source == (ROOM / "gossip.py").read_text().strip()
    assert "one_bit" not in record.read()["exercises"]


def test_what_answers_no_exercise_is_shown_at_once(shown):
    definition("direct_convolution")
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("parameter_serve", "Did you mean 'parameter_server'"),
        ("Winograd", "Did you mean 'winograd'"),
        ("15.mix", "Did you mean 'gossip'"),
        ("__init__", "There are ring_allreduce, "),
        (7, "no definition is called 7. There are ring_allreduce, "),
    ],
)
def test_a_name_that_is_none_is_refused_with_the_names(name, told, shown):
    with pytest.raises(Mistake) as mistake:
        definition(name)
    words = " ".join(str(mistake.value).split())
    assert told in words
    assert all(known in words for known in ANSWERS)
    assert shown == []


@pytest.mark.parametrize("name", ANSWERS)
def test_a_notebook_has_the_whole_file_in_a_closed_block(name):
    page = bundle(name)["text/html"]
    (block,) = re.findall(r"<details>(.*)</details>", page, re.DOTALL)
    code = re.search(r"<pre[^>]*>(.*)</pre>", block, re.DOTALL)[1]
    inside = html.unescape(re.sub(r"<[^>]*>", "", code))
    assert inside.strip() == (ROOM / f"{name}.py").read_text().strip()
    assert f"ddl_teach/plain/{name}.py" in re.search("<summary>(.*)</summary>", block)[1]


def test_colours_are_the_themes_and_nothing_is_loaded():
    page = bundle("gossip")["text/html"]
    assert 'color: var(--jp-mirror-editor-keyword-color, #006000)">def</span>' in page
    assert set(re.findall(r"color: (\w+)", page)) == {"var"}
    assert "white-space: pre;" in page
    assert not re.search(r"https?:|<script|<link|<style|background", page)


@pytest.mark.parametrize("name", ["gossip", "tree_broadcast"])
def test_a_terminal_has_plain_text(name):
    text = bundle(name)["text/plain"]
    assert text.endswith((ROOM / f"{name}.py").read_text().strip())
    assert text.startswith(f"{name} on one screen")
    assert "<" not in text.split('"""')[0]


def test_the_book_folds_it_too():
    page = as_html({"output_type": "display_data", "data": bundle("gossip"), "metadata": {}})
    assert "<details><summary>gossip on one screen" in page


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_shows_its_definitions_after_their_checks(unit):
    cells = dict(calls(unit, "definition"))
    checks = dict(calls(unit, "check"))
    assert list(cells) == UNITS[unit]
    for name in cells:
        assert COMPARE.get(name, "").startswith("Compare ")
        if exercise := ANSWERS[name]:
            assert checks[exercise] < cells[name]


@pytest.mark.parametrize(
    ("unit", "name"), [(unit, name) for unit, names in UNITS.items() for name in names]
)
def test_its_sentence_speaks_of_names_that_the_learner_sees(unit, name):
    paths = ROOM / f"{name}.py", *sources.sources_of(unit)
    seen = "\n".join(path.read_text() for path in paths)
    for word in re.findall(r"`(\w+)`", COMPARE.get(name, "")):
        assert re.search(rf"\b{word}\b", seen)
