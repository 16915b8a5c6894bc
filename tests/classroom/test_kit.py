"""What judges share: plain answers, usual mistakes by what they give, failures by their data."""

import re

import numpy as np
import pytest

from ddl_class.exercises.exercise import Wrong
from ddl_class.exercises.kit import answers, ranks
from ddl_class.exercises.kit.compare import (
    AnyOf,
    alike,
    compare,
    equal,
    shown,
    why,
    within,
)
from ddl_class.exercises.stages import EnginesStage, SimulatedStage
from ddl_runtime.diagnosis.deadlock import DiagnosedError

WANTED = "return what is asked"


# -- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "value", "plain"),
    [
        (answers.number, np.float32(2), 2.0),
        (lambda value, wanted: answers.several(value, 2, wanted), [1, "x"], [1, "x"]),
        (lambda value, wanted: answers.numbers(value, "ab", wanted), (1, True + 1), [1.0, 2.0]),
        (lambda value, wanted: answers.items(value, wanted, answers.whole), (1, 2.0), [1, 2]),
    ],
)
def test_an_answer_becomes_plain(read, value, plain):
    assert read(value, WANTED) == plain


@pytest.mark.parametrize(
    ("read", "value", "words"),
    [
        (answers.number, None, "; yours returns None. Is a `return` missing?"),
        (answers.number, 10**400, "more than 300 digits"),
        (answers.number, np.nan, "nan is none"),
        (lambda value, wanted: answers.several(value, 2, wanted), "xy", ", not xy"),
        (lambda value, wanted: answers.several(value, 2, wanted), (1,), "; yours returns 1"),
        (lambda value, wanted: answers.numbers(value, "ab", wanted), (1, None), "b is None"),
        (lambda value, wanted: answers.array(value, wanted), [[1], [1, 2]], ", not [[1], [1, 2]]"),
        (
            lambda value, wanted: answers.array(value, wanted, (2,)),
            np.ones(3),
            "has the shape (3,); it should have (2,)",
        ),
        (
            lambda value, wanted: answers.arrays(value, "ab", wanted, [(1,), (1,)]),
            (np.ones(1), np.ones(2)),
            "b has the shape (2,); it should have (1,)",
        ),
        (lambda value, wanted: answers.items(value, wanted, answers.whole), [1.5], ", not [1.5]"),
        (
            lambda value, wanted: answers.items(value, wanted, answers.whole),
            [True],
            ", not [True]",
        ),
        (lambda value, wanted: answers.items(value, wanted, answers.whole), 7, ", not 7"),
    ],
)
def test_what_is_no_such_answer_is_told(read, value, words):
    with pytest.raises(Wrong, match=f"^{WANTED}.*{re.escape(words)}"):
        read(value, WANTED)


# -- usual mistakes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "right", "same"),
    [
        (1 + 1e-12, 1.0, True),
        (1.001, 1.0, False),
        ([1.0, 2.0], (1.0, 2.0), True),
        ([1.0], [1.0, 2.0], False),
        (np.ones(2), np.ones((1, 2)), False),
        ([np.ones(2), 3], [np.ones(2), 3], True),
        (np.inf, np.inf, True),
    ],
)
def test_the_same_but_for_rounding(found, right, same):
    assert alike(found, right) == same


def test_true_is_no_one():
    assert equal(1, 1)
    assert not equal(True, 1)


USUAL = {"twice": 2.0, "negative or nothing": AnyOf(-1.0, 0.0)}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (2.0, "twice."),
        (0.0, "negative or nothing."),
        (-1.0, "negative or nothing."),
        (9.0, "look."),
    ],
)
def test_the_mistake_that_gives_it_is_named(found, words):
    assert why(found, USUAL, "look") == words
    with pytest.raises(Wrong, match=f"^f gives {found:g}, and 1 is right. {words}$"):
        compare("f", found, 1.0, USUAL, "look")


def test_two_numbers_that_are_not_the_same_never_look_the_same():
    with pytest.raises(Wrong, match=r"gives 1\.00000001, and 1 is right"):
        compare("f", 1.00000001, 1.0)


def test_several_numbers_look_the_same_on_both_sides():
    with pytest.raises(Wrong, match=r"^f gives 40 and 1, and 40 and 3 is right\.$"):
        compare("f", [40.0, 1.0], [40, 3])


def test_where_a_row_is_too_short_its_length_is_shown():
    with pytest.raises(Wrong, match="f gives 19 numbers, and 20 numbers is right"):
        compare("f", np.arange(19.0), np.arange(20.0))


def test_what_is_right_passes_within_its_tolerance():
    compare("f", 1.01, 1.0, same=within(0.02))
    with pytest.raises(Wrong):
        compare("f", 1.01, 1.0, same=within(0.001))


def test_of_a_long_row_the_first_wrong_numbers_are_shown():
    found = np.arange(20.0)
    found[12] = 99
    with pytest.raises(Wrong, match=r"^f gives, from number 12 on, \[99, 13, .*, and \[12, 13, "):
        compare("f", found, np.arange(20.0))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1234567, "0.123457"),
        (10805498.2, "10,805,498"),
        (np.arange(8), "[0, 1, 2, 3, 4, 5, ...]"),
        ([1.0, 2.0], "1 and 2"),
        ([[0], [1]], "[[0], [1]]"),
    ],
)
def test_values_are_shown_in_few_letters(value, text):
    assert shown(value) == text


# -- failures -------------------------------------------------------------------------------------


def receives_first(comm, x):
    comm.recv(np.empty_like(x), (comm.rank + 1) % comm.size)


def sends_first(comm, x):
    comm.send(x, (comm.rank + 1) % comm.size)
    comm.recv(np.empty_like(x), (comm.rank - 1) % comm.size)


def waits_for_the_silent(comm, x):
    if comm.rank == 0:
        comm.recv(x, 1)


def other_tag(comm, x):
    if comm.rank == 0:
        comm.isend(x, 1, tag=1).wait()
    elif comm.rank == 1:
        comm.recv(x, 0, tag=2)


def forgets(comm, x):
    if comm.rank == 0:
        comm.isend(x[:1], 1)


def other_type(comm, x):
    other = 1 - comm.rank
    comm.sendrecv(x, other, np.empty(len(x), np.float32), other)


def other_length(comm, x):
    other = 1 - comm.rank
    comm.sendrecv(x, other, np.empty(1 + len(x)), other)


def past_the_end(comm, x):
    comm.send(x, comm.size)


@pytest.fixture(params=["simulated", "real"])
def stage_of(request, pool):
    real = request.param == "real"
    return lambda function: EnginesStage(function, pool) if real else SimulatedStage(function)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (receives_first, "comm.sendrecv does both"),
        (sends_first, "a send before the receive"),
        (waits_for_the_silent, "never come. Count them"),
        (other_tag, "compare source and tag"),
        (forgets, "one receive is missing. Count them"),
        (other_type, "x may hold float64"),
        (other_length, "does not fit the array that should take it. Count them"),
        (past_the_end, "a rank that does not exist"),
    ],
)
@pytest.mark.sampled(4)
def test_a_failure_is_told_with_its_usual_cause(stage_of, program, words):
    given = [(np.zeros(20_011),)] * 2
    with pytest.raises(Wrong, match=f"(?s)^[^\n]*{words}.*\n\nf on 2 ranks:\n"):
        ranks.run(stage_of(program), 2, given, "f on 2 ranks", ranks.general("Count them."))


def test_a_failure_that_no_table_knows_stays_what_it_is(stage_of):
    def divides(comm, x):
        return 1 / 0

    with pytest.raises(DiagnosedError, match="ZeroDivisionError"):
        ranks.run(stage_of(divides), 2, [((),)] * 2, "f", ranks.general(""))


def test_who_only_looks_on_and_waits_is_told_apart(stage_of):
    def plays(comm, x):
        if comm.rank == 2:
            comm.recv(x, 0)

    with pytest.raises(Wrong, match=r"^Ranks 0 and 1 play"):
        ranks.run(stage_of(plays), 3, [(np.zeros(1),)] * 3, "f", ranks.PLAYERS)


@pytest.mark.parametrize(
    ("order", "wanted"),
    [(ranks.first(4, (1, 2, 4, 8)), [4, 1, 2, 8]), (ranks.last(1, (1, 2, 4)), [2, 4, 1])],
)
def test_numbers_of_ranks_in_the_order_that_tells_most(order, wanted):
    assert order == wanted
