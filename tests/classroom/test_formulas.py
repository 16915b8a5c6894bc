"""A judge that is a table: it asks what the table says, and names the mistake behind an answer."""

import numpy as np
import pytest

from ddl_class.exercises.exercise import Attempt, Wrong
from ddl_class.exercises.kit.formulas import FormulaJudge
from ddl_class.exercises.kit.texts import Texts
from ddl_class.exercises.stages import SimulatedStage

SAYS = {
    "call": "share({whole}, {count})",
    "wanted": "return a number",
    "setting": "{call}: rank {rank}",
    "product": "That is the product",
    "negative": "{call}: {result:g} is below zero",
    "own": "That is the rank's own",
    "advice": "Send once",
    "otherwise": "Divide the whole",
}


def judge(function, table, *parameters, counts=()):
    """Judge by this table; what is wrong, or nothing."""
    says = Texts(SAYS | {"call": "add up"} if "comm" in parameters else SAYS)
    says.parameters = parameters
    attempt = Attempt(SimulatedStage(function), np.random.default_rng(0), counts)
    try:
        FormulaJudge(says, "ddl_class.exercises.unit_00", **table)(attempt)
    except Wrong as wrong:
        return str(wrong)
    return ""


DIVIDED = {
    "cases": [[12, 4], [9, 2]],
    "right": "whole / count",
    "mistakes": {"product": "whole * count"},
    "refused": {"negative": "result < 0"},
}


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda whole, count: whole / count, ""),
        (lambda whole, count: whole * count, "share(12, 4) gives 48, and 3 is right. That is the"),
        (lambda whole, count: whole // count, "share(9, 2) gives 4, and 4.5 is right. Divide"),
        (lambda whole, count: -1.0, "share(12, 4): -1 is below zero."),
        (lambda whole, count: None, "return a number; yours returns None"),
    ],
)
def test_an_answer_stands_beside_what_is_right(function, words):
    answer = judge(function, DIVIDED, "whole", "count")
    assert answer.startswith(words)
    assert bool(answer) == bool(words)


def test_cases_may_be_drawn_and_named_otherwise():
    asked = []
    table = {
        "once": {"few": "[2, 3]"},
        "cases": "few",
        "of": ["size"],
        "where": {"whole, count": "draw.uniform(1, 2), size + 1"},
        "right": "whole / count",
    }
    assert (
        judge(lambda *given: asked.append(given) or given[0] / given[1], table, "whole", "count")
        == ""
    )
    assert [count for _, count in asked] == [3, 4]
    assert all(1 <= whole < 2 for whole, _ in asked)


SUMMED = {
    "cases": "counts",
    "of": ["size"],
    "where": {"x": "np.arange(1.0, size + 1)"},
    "given": "[(np.array([own]),) for own in x]",
    "value": "arguments[0]",
    "right": "np.array([x.sum()])",
    "mistakes": {"own": "x[rank : rank + 1]"},
    "sent": {"messages": "[size - 1] * size"},
}


def gathered(comm, x, often=1):
    """Every rank sends its number to all others, so many times."""
    own = x.copy()
    for _ in range(often):
        for step in range(1, comm.size):
            arriving = np.empty(1)
            comm.sendrecv(
                own, (comm.rank + step) % comm.size, arriving, (comm.rank - step) % comm.size
            )
            x += arriving / often


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (gathered, ""),
        (
            lambda comm, x: None,
            "add up: rank 0 gives [1], and [6] is right. That is the rank's own.",
        ),
        (lambda comm, x: gathered(comm, x, 2), "add up: the numbers are right"),
        (
            lambda comm, x: x.resize(3, refcheck=False),
            "add up: on rank 0 an array of shape (1,) has the shape (3,) afterwards",
        ),
    ],
)
def test_each_rank_has_what_is_right_in_few_messages(program, words):
    answer = judge(program, SUMMED, "comm", "x", counts=(3,))
    assert answer.startswith(words)
    assert bool(answer) == bool(words)


def test_an_error_says_in_which_formula_it_is():
    with pytest.raises(NameError) as raised:
        judge(lambda whole, count: 1.0, DIVIDED | {"right": "whole / many"}, "whole", "count")
    assert raised.value.__notes__ == ["in the formula: whole / many"]
