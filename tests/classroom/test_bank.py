"""The bank of questions is complete, true where it can be computed, and gives nothing away."""

import importlib
import math
import pkgutil
import re
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

import ddl_teach.theory
from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.registry import units
from ddl_class.retrieval.bank import LETTERS, UNITS, find_item, items
from ddl_teach.theory.machine import Cluster, Link

SOURCES = Path(__file__).resolve().parents[2] / "notebooks/source"
EVERY = [item for unit in UNITS for item in items(unit)]
COMPUTED = [item for item in EVERY if item.computed]
NUMBER = re.compile(r"-?\d[\d,]*(?:\.(\d+))?")


def test_every_unit_has_its_questions():
    assert [unit.number for unit in units()] == UNITS
    assert min(len(items(unit)) for unit in UNITS) >= 10
    assert len(EVERY) >= 200
    assert len(COMPUTED) >= 40


@pytest.mark.parametrize("unit", UNITS)
def test_questions_are_complete(unit):
    for item in items(unit):
        assert re.fullmatch(rf"{unit}\.[a-z0-9_]+", item.name)
        assert item.difficulty in (1, 2, 3), item.name
        assert len(item.wrong) in (2, 3), item.name
        texts = [item.answer, *(each.text for each in item.wrong)]
        assert len({text.casefold() for text in texts}) == len(texts) <= len(LETTERS), item.name
        said = [part for each in item.wrong for part in (each.text, each.mistake, each.reply)]
        assert all([item.question, item.answer, *said]), item.name
        assert all(each.reply[-1] in ".?!" for each in item.wrong), item.name


@pytest.mark.parametrize("unit", UNITS)
def test_what_is_asked_is_taught_where_it_says(unit):
    text = "\n".join(path.read_text() for path in SOURCES.glob(f"{unit}_*.py"))
    headings = re.findall(r"^# ##+ (?:\d+\. )?(.*?)(?: · .*)?$", text, re.MULTILINE)
    assert {item.taught for item in items(unit)} <= set(headings)


def test_no_question_stands_there_twice():
    assert Counter(item.name for item in EVERY).most_common(1)[0][1] == 1
    words = Counter(re.sub(r"\W+", " ", item.question.casefold()) for item in EVERY)
    assert words.most_common(1)[0][1] == 1


def test_each_question_stands_alone():
    """They are drawn one by one: nothing may refer to another question."""
    refers = re.compile(r"^(And |The same (?!batch|job))|\b(above|this unit|here)\b")
    assert [item.name for item in EVERY if refers.search(item.question)] == []


def number(text):
    """The first number of a text, and how many decimals it shows; None where there is none."""
    match = NUMBER.search(text)
    return match and (float(match[0].replace(",", "")), len(match[1] or ""))


@pytest.fixture(scope="module")
def formulas():
    """What an expression may use: each module of the theory by its name."""
    names = [each.name for each in pkgutil.iter_modules(ddl_teach.theory.__path__)]
    modules = {name: importlib.import_module(f"ddl_teach.theory.{name}") for name in names}
    for package in ("grids", "gossip"):
        for each in pkgutil.iter_modules(modules[package].__path__):
            importlib.import_module(f"ddl_teach.theory.{package}.{each.name}")
    return modules | {"np": np, "math": math, "Link": Link, "Cluster": Cluster}


@pytest.mark.parametrize("item", COMPUTED, ids=lambda item: item.name)
def test_numbers_are_what_the_formulas_say(item, formulas):
    shown, decimals = number(item.answer)
    assert round(float(eval(item.computed, formulas)), decimals) == shown
    assert all((number(each.text) or (math.nan,))[0] != shown for each in item.wrong)


def test_the_length_of_an_answer_tells_nothing():
    """Of answers in words: numbers are all alike."""
    asked = [item for item in EVERY if not item.computed]
    longest = [len(item.answer) > max(len(each.text) for each in item.wrong) for item in asked]
    shortest = [len(item.answer) < min(len(each.text) for each in item.wrong) for item in asked]
    assert np.mean(longest) < 0.35
    assert np.mean(shortest) < 0.35


def test_every_place_is_as_likely_for_the_right_answer():
    generator = Random(0)
    places = Counter(
        item.options(generator).index(item.answer) for item in EVERY for _ in range(20)
        if len(item.wrong) == 3
    )  # fmt: skip
    assert len(places) == 4
    assert max(places.values()) < 1.1 * min(places.values())


def test_the_order_of_answers_is_that_of_its_seed():
    item = EVERY[0]
    assert item.options(Random(3)) == item.options(Random(3))
    assert len({tuple(item.options(Random(seed))) for seed in range(20)}) > 5
    assert sorted(item.options(Random(1))) == sorted(item.options(Random(2)))


def test_a_unit_or_a_question_that_is_not_there():
    with pytest.raises(Mistake, match="'99'"):
        items("99")
    assert find_item("06.ring_bytes") in items("06")
    assert find_item("06.nothing") is None is find_item("open")
