"""Each unit has a picture that moves, on its page of the book before the unit's first formula."""

import inspect
import itertools
import re

import pytest

from book import moving, units
from ddl_class.release.curriculum import PARTS

NAMES = sorted(moving.OF_UNITS)
NUMBERS = {number for numbers in PARTS.values() for number in numbers}


def test_each_unit_has_one():
    assert [name[:2] for name in NAMES] == sorted(NUMBERS)
    programs = [moving.OF_UNITS[name].program for name in NAMES]
    assert len(set(programs)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_stands_before_the_first_formula_and_moves(name):
    page = units.chapter(units.SOURCES / f"{name}.py", None)
    before, player, after = page.partition('data-part="player"')
    assert player
    assert "$$" not in before
    assert before.startswith("# ")
    flights = moving.picture(name).film.flights
    assert len({flight.start for flight in flights}) > 1 or len(flights) > 3
    words = inspect.getdoc(moving.OF_UNITS[name].program)
    assert words in after


@pytest.mark.parametrize("name", NAMES)
def test_its_words_are_short_sentences(name):
    words = inspect.getdoc(moving.OF_UNITS[name].program)
    assert max(len(part.split()) for part in re.split(r"[.:?] ", words)) <= 20


def test_other_notebooks_of_a_unit_have_none():
    assert 'data-part="player"' not in units.chapter(units.SOURCES / "08_overlap.py", None)


def doings(name, kind):
    return [row for row in moving.picture(name).film.doings if row[1] == kind]


def test_the_first_that_has_worked_waits_for_the_last():
    work = {rank: end for rank, _, _, end in doings("00_tour", "work")}
    assert min(work, key=work.get) == 0
    last = max(doings("00_tour", "recv"), key=lambda row: row[3])
    assert last[0] == 0


def test_the_way_in_pieces_is_the_faster_one():
    whole, pieces = (
        max(end for rank, _, _, end in doings("03_divided_batches", "work") if rank == who)
        for who in (0, 1)
    )
    assert pieces < whole


def test_blocks_go_round_while_ranks_compute():
    assert "none of it in messages" in moving.picture("21_attention").film.title


@pytest.mark.parametrize("worker", [1, 2, 3])
def test_a_worker_that_is_ready_gets_its_next_settings_at_once(worker):
    tries = doings("17_searching_in_parallel", "work")
    shortest = min(end - start for *_, start, end in tries)
    own = sorted(row[2:] for row in tries if row[0] == worker)
    gaps = [later[0] - earlier[1] for earlier, later in itertools.pairwise(own)]
    assert max(gaps) < shortest
    assert len(tries) == 9


def test_what_was_saved_is_loaded_after_the_failure():
    ends = [end for _, _, start, end in doings("25_a_month", "work") if start < 8e-6]
    loads = [flight for flight in moving.picture("25_a_month").film.flights if flight.source == 4]
    assert len(ends) == len(loads) == 4
    assert min(flight.start for flight in loads) >= min(ends)


def test_half_of_the_bits_are_half_of_the_bytes():
    sizes = [flight.bytes for flight in moving.picture("22_eight_bits").film.flights]
    assert max(sizes) == 2 * min(sizes)
    assert sizes.count(max(sizes)) == sizes.count(min(sizes))
