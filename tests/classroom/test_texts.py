"""What judges say: what they name stands in the table, and they name all of it."""

import ast
from importlib import import_module

import pytest

from ddl_class.exercises.exercise import Wrong
from ddl_class.exercises.kit.texts import Texts, read
from ddl_class.exercises.registry import FOLDER

UNITS = sorted(path.name for path in FOLDER.glob("unit_*"))
PACKAGE = "ddl_class.exercises"


def judges_of(unit):
    """The files of a unit's judges, and what the kit says for them, as trees."""
    paths = [*sorted((FOLDER / unit).glob("*judges.py")), FOLDER / "kit" / "asked.py"]
    return [ast.parse(path.read_text()) for path in paths]


def named(tree):
    """The names of texts in calls of a table of texts: `FUSED("wanted")`, `FUSED.each(swapped=c)`.

    Yields the variable that holds the table, and a name.
    """
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        function = call.func
        if isinstance(function, ast.Name) and call.args and isinstance(call.args[0], ast.Constant):
            yield function.id, call.args[0].value
        if isinstance(function, ast.Attribute) and function.attr in ("each", "first", "refuse_if"):
            for keyword in call.keywords:
                yield ast.unparse(function.value), keyword.arg


def named_by_formulas(entry):
    """The names of texts in an exercise's table of formulas."""
    asks = entry.get("asks", {})
    named = {
        text
        for part in ("mistakes", "refused", "at_the_end", "causes")
        for text in asks.get(part, {})
    }
    fewer = [f"fewer_{of}" for of in asks.get("sent", {})]
    return named | {text if text in entry.get("says", {}) else "advice" for text in fewer}


@pytest.mark.parametrize("unit", UNITS)
def test_what_formulas_name_stands_in_the_table(unit):
    table = read(f"{PACKAGE}.{unit}")
    for entry in table["exercises"]:
        known = {*table.get("says", {}), *entry.get("says", {})}
        assert named_by_formulas(entry) <= known, entry["name"]


@pytest.mark.parametrize("unit", UNITS)
def test_what_judges_name_stands_in_the_table(unit):
    for path in sorted((FOLDER / unit).glob("*judges.py")):
        module = import_module(f"{PACKAGE}.{unit}.{path.stem}")
        for variable, text in named(ast.parse(path.read_text())):
            table = getattr(module, variable, None)
            if isinstance(table, Texts) and text is not None:
                assert text in table, f"{unit}: {variable} has no text {text!r}"


@pytest.mark.parametrize("unit", UNITS)
def test_judges_name_every_text_of_the_table(unit):
    words = set()
    for tree in judges_of(unit):
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword):
                words.add(node.arg)
            if isinstance(node, ast.Constant):
                words.add(node.value)
    table = read(f"{PACKAGE}.{unit}")
    for entry in table["exercises"]:
        words |= named_by_formulas(entry)
    texts = set(table.get("says", {})).union(
        *(entry.get("says", {}) for entry in table["exercises"])
    )
    assert texts - words == set()


def test_a_text_takes_values():
    texts = Texts(shape="a shape of {wanted}, not {found[0]}", plain="that is the sum")
    assert texts("shape", wanted=(2, 3), found=[4]) == "a shape of (2, 3), not 4"
    assert texts.each({"wanted": 1, "found": "x"}, shape=7, plain=8) == {
        "a shape of 1, not x": 7,
        "that is the sum": 8,
    }


def test_the_first_case_that_is_so_is_refused():
    texts = Texts(empty="nothing is there", many="{count} are too many.")
    texts.refuse_if({"count": 3}, empty=False, many=0)
    assert texts.first(empty=1, many=True) == "nothing is there."
    with pytest.raises(Wrong, match=r"^3 are too many\.$"):
        texts.refuse_if({"count": 3}, empty=[], many=[1])
