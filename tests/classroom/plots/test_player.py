"""The moving picture: what it shows when, alone and in a browser."""

import itertools
import re
from dataclasses import replace
from itertools import pairwise
from math import inf
from xml.etree import ElementTree

import numpy as np
import pytest

import ddl_class
from ddl_class.notebook.animation import animate
from ddl_class.plots.moving import LETTER, PAGE, REST, FilmStage, _wrapped
from ddl_class.ranks import simulate
from ddl_runtime.diagnosis.deadlock import Deadlock, RankFailed
from ddl_runtime.diagnosis.page import WIDTH
from ddl_teach.collectives import linear, recursive_doubling, ring, tree
from ddl_teach.comm import TwoLevel, Uniform, split_evenly

LATENCY, BANDWIDTH = 2e-6, 1e9
RANKS = [2, 3, 4, 5, 8]


def one_message(comm, nbytes, late=0.0):
    x = np.zeros(nbytes, np.uint8)
    if comm.rank == 0:
        comm.send(x, to=1)
    elif comm.rank == 1:
        comm.work(seconds=late)
        comm.recv(x, source=0)


@pytest.mark.parametrize("nbytes", [1, 6000])
def test_a_message_leaves_byte_by_byte_and_arrives_a_latency_later(nbytes):
    run = simulate(one_message, 2, network=Uniform(LATENCY, BANDWIDTH), nbytes=nbytes)
    [flight] = animate(run).film.flights
    left = nbytes / BANDWIDTH
    assert flight[:2] == (0, 1)
    assert (flight.start, flight.left) == pytest.approx((0, left))
    assert (flight.lands, flight.end) == pytest.approx((left + LATENCY, left + LATENCY))


def learned(comm, x):
    """A learner's reduce-scatter."""
    parts = split_evenly(x, comm.size)
    came = split_evenly(np.empty_like(x), comm.size)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    # What goes out first is the chunk of the left neighbour.
    for step in range(1, comm.size):
        outgoing, incoming = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        comm.sendrecv(parts[outgoing], right, came[incoming], left)

        parts[incoming] += came[incoming]


@pytest.mark.parametrize("ranks", RANKS)
def test_the_marked_line_is_the_one_where_a_rank_waits(ranks):
    film = animate(learned, ranks, goal="reduce_scatter").film
    assert [line.strip()[:3] for line in film.lines[:2]] == ["def", "par"], (
        "the docstring is shown"
    )
    assert not any("#" in line or not line.strip() for line in film.lines)
    for rank in range(ranks):
        own = [(since, number) for who, since, number in film.places if who == rank]
        for (since, number), (until, _) in pairwise(own):
            if until > since:
                assert "comm.sendrecv(" in film.lines[number]
        assert own[-1] == (pytest.approx(film.end), -1), "who has returned is nowhere"


@pytest.mark.parametrize("ranks", RANKS)
def test_code_is_folded_so_that_no_page_makes_it_smaller(ranks):
    stage = FilmStage(animate(learned, ranks, goal="reduce_scatter").film, "m")
    assert stage.width <= PAGE
    letters = [*map(len, itertools.chain(*stage.rows))]
    assert stage.code[0] + stage.gutter + LETTER * max(letters) <= PAGE
    shown = [" ".join(" ".join(rows).split()) for rows in stage.rows]
    assert shown == [" ".join(line.split()) for line in stage.film.lines]


@pytest.mark.parametrize("words", ["comm.send(a, b)", "comm.sendrecv(x[out],right,into,left)"])
def test_a_folded_line_keeps_where_it_begins(words):
    first, *rest = _wrapped(" " * 8 + words, 40)
    assert first.startswith(" " * 8 + words[0])
    assert all(row.startswith(" " * 16) for row in rest)


def test_what_cannot_be_shown_hides_no_error(monkeypatch):
    monkeypatch.setattr("ddl_class.engines.outputs.in_notebook", lambda: 1 / 0)
    with pytest.raises(Deadlock):
        ddl_class.simulate(all_receive, 2)


def test_an_error_without_a_run_is_told():
    with pytest.raises(ValueError, match="keeps no run"):
        animate(Deadlock("nothing came"))


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_saved_story_fits_into_its_picture(ranks):
    film = animate(simulate(lambda comm: comm.barrier(), ranks)).film
    film = replace(film, lines=[], story="x" * 88)
    assert FilmStage(film, "m").width >= 8 + 88 * LETTER


def test_helpers_of_one_file_are_shown_too():
    film = animate(ring.allreduce, 3).film
    shown = [line.split("(")[0] for line in film.lines if line.startswith("def ")]
    assert shown[0] == "def allreduce"
    assert {"def reduce_scatter", "def pass_round"} <= set(shown)


def test_a_beginner_sees_no_types_in_the_program():
    shown = animate(linear.allreduce).film.lines
    assert shown[0] == "def allreduce(comm, x, op='sum'):"
    assert shown[3] == "def reduce(comm, x, root=0, op='sum'):"


def in_a_line(comm, x): tree.allreduce(comm, x)  # fmt: skip


def test_a_program_of_one_line_is_shown_whole():
    assert animate(in_a_line, 2).film.lines[0].startswith("def in_a_line(comm, x): tree.all")


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("algorithm", [ring, tree, linear, recursive_doubling])
def test_what_travels_is_what_the_sender_held(algorithm, ranks):
    film = animate(algorithm.allreduce, ranks).film
    assert film.flights
    for flight in film.flights:
        held = {
            counts for rank, _, since, counts in film.boxes
            if rank == flight.source and since <= flight.start
        }  # fmt: skip
        assert flight.carries, "nothing is known of its load"
        assert set(flight.carries) <= held
        assert flight.start <= flight.left <= flight.lands <= flight.end <= film.end


@pytest.mark.parametrize("ranks", RANKS)
def test_the_last_boxes_are_the_finished_sums(ranks):
    film = animate(ring.allreduce, ranks).film
    last = {(rank, chunk): counts for rank, chunk, _, counts in film.boxes}
    assert set(last.values()) == {",".join("1" * ranks)}
    assert len(last) == ranks * ranks


def test_bytes_that_came_early_wait_at_the_receiver():
    def program(comm, x):
        one_message(comm, 8, late=5e-6)

    [flight] = animate(program, 2, network=Uniform(1e-6, 1e9)).film.flights
    assert flight.lands == pytest.approx(1.008e-6)
    assert flight.end == pytest.approx(5e-6)


def sends_first(comm, x):
    came = np.empty_like(x)
    for _ in range(comm.size - 1):
        comm.send(x, (comm.rank + 1) % comm.size)
        comm.recv(came, (comm.rank - 1) % comm.size)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_hang_ends_with_who_waits_for_whom(ranks):
    film = animate(sends_first, ranks).film
    assert film.wrong
    assert "Deadlock" in film.title
    assert "Deadlock" in film.story
    assert max(map(len, film.story.partition("What to try")[2].splitlines())) <= WIDTH
    assert set(film.waits) == {(rank, (rank + 1) % ranks) for rank in range(ranks)}
    assert {flight.end for flight in film.flights} == {inf}
    assert {kind for _, kind, _, until in film.doings if until == film.end} == {"stuck"}
    lines = {film.lines[number].strip() for _, _, number in film.places}
    assert lines == {"comm.send(x, (comm.rank + 1) % comm.size)"}


def all_receive(comm, messages=1):
    x = np.zeros(10)
    for _ in range(messages):
        comm.sendrecv(x, (comm.rank + 1) % comm.size, x.copy(), (comm.rank - 1) % comm.size)
    comm.recv(x, (comm.rank + 1) % comm.size)


@pytest.fixture
def shown(monkeypatch):
    pictures = []
    monkeypatch.setattr("ddl_class.exercises.predictions.show", pictures.append)
    monkeypatch.setattr("ddl_class.engines.outputs.in_notebook", lambda: True)
    return pictures


@pytest.mark.parametrize("ranks", RANKS)
def test_a_notebook_shows_how_far_any_program_came_before_it_hung(shown, ranks):
    with pytest.raises(Deadlock):
        ddl_class.simulate(all_receive, ranks)
    [film] = [picture.film for picture in shown]
    assert film.title.startswith("Deadlock")
    assert film.wrong
    assert len(film.flights) == ranks
    assert set(film.waits) == {(rank, (rank + 1) % ranks) for rank in range(ranks)}
    stuck = [rank for rank, kind, *_ in film.doings if kind == "stuck"]
    assert sorted(stuck) == list(range(ranks))


def test_what_arrives_before_a_hang_is_seen_to_arrive(shown):
    with pytest.raises(Deadlock):
        ddl_class.simulate(all_receive, 3)
    film = shown[0].film
    assert max(flight.end for flight in film.flights) < film.end
    ends = [end for end, _ in film.stops]
    assert ends == sorted(ends)


def test_ranks_that_are_stuck_are_so_to_the_last_moment(shown):
    with pytest.raises(Deadlock):
        ddl_class.simulate(all_receive, 3)
    film = shown[0].film
    assert FilmStage(film, "m", at=film.end).picture().count("#mstuck") == 3


def test_ranks_that_hang_before_anything_was_sent_are_shown_too(shown):
    with pytest.raises(Deadlock):
        ddl_class.simulate(all_receive, 3, messages=0)
    assert shown[0].film.waits == [(0, 1), (1, 2), (2, 0)]


@pytest.mark.parametrize(
    "given", [{"ranks": 17}, {"ranks": 8, "messages": 200}, {"ranks": 3, "trace": False}]
)
def test_what_hangs_and_is_too_much_to_watch_or_not_known_is_not_shown(shown, given):
    with pytest.raises(Deadlock):
        ddl_class.simulate(all_receive, **given)
    assert shown == []


def test_of_a_function_that_hangs_one_picture_is_shown(shown):
    assert animate(sends_first, run=ddl_class.simulate).film.lines
    assert shown == []


def dies_later(comm, x):
    ring.reduce_scatter(comm, x)
    if comm.rank == 1:
        raise ValueError("no more")


def test_what_raises_on_its_way_is_shown_until_then():
    film = animate(dies_later, 3).film
    assert "ank 1" in film.title
    assert "ValueError" in film.story
    assert len(film.flights) == 6


def not_written(comm, x):
    raise NotImplementedError


def test_what_has_not_begun_is_told_as_elsewhere():
    with pytest.raises(RankFailed, match="NotImplementedError"):
        animate(not_written)


def test_on_two_levels_a_way_is_as_long_as_its_link():
    fast, slow = Uniform(1e-6, 1e9), Uniform(8e-6, 1e9)
    film = animate(tree.allreduce, 4, network=TwoLevel(2, inside=fast, between=slow)).film
    ways = {(f.source // 2 == f.dest // 2, round(f.lands - f.left, 9)) for f in film.flights}
    assert ways == {(True, 1e-6), (False, 8e-6)}


@pytest.mark.parametrize("of", [ring.allreduce, sends_first])
def test_every_drawing_is_well_formed(of):
    picture = animate(of, 3)
    for text in (picture.svg(), picture.strip):
        root = ElementTree.fromstring(text)
        names = [node.get("id") for node in root.iter() if node.get("id")]
        assert len(set(names)) == len(names)
        used = {node.get("href")[1:] for node in root.iter() if node.get("href")}
        assert used <= set(names)
        assert 'dur="0.000s"' not in text, "it would never end"


def test_a_page_loads_nothing_and_stays_small():
    page = animate(ring.allreduce, 16).page()
    assert len(page) < 300_000
    assert len(animate(ring.allreduce).page()) < 60_000
    assert not re.search(r"(src|href)=\"(?!data:|#)|https?:(?!//www\.w3\.org)", page)


def test_two_players_on_one_page_do_not_meet():
    picture = animate(ring.allreduce, 3)
    first, second = (
        set(re.findall(r'id="([^"]+)"', picture.page() + picture.svg())) for _ in "ab"
    )
    assert len(first) > 10
    assert not first & second


def test_where_no_script_runs_the_strip_stands_with_all_words():
    picture = animate(ring.allreduce, 4)
    bundle = picture._repr_mimebundle_()
    assert bundle["image/svg+xml"].count(">step ") == 6
    assert f'alt="{picture.alt}"' in bundle["text/html"]
    assert all(words in bundle["text/plain"] for _, words in picture.film.stops)
    assert 'data-part="player" hidden' in bundle["text/html"]


def test_a_picture_is_saved_as_a_page_or_as_a_drawing(tmp_path):
    picture = animate(ring.allreduce, 3)
    page = picture.save(tmp_path / "ring.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<script>" in page
    assert picture.save(tmp_path / "ring.svg").read_text().startswith("<svg")
    with pytest.raises(ValueError, match=r"saved as \.html or \.svg, not as ring\.gif"):
        picture.save(tmp_path / "ring.gif")


@pytest.mark.parametrize(
    "line", ["rank 0  send(to=1, tag=0) of", "and the ring is closed", "What to try"]
)
def test_a_drawing_that_hangs_says_why_at_its_end_and_stays_longer(line):
    stuck, right = animate(sends_first).svg(), animate(ring.allreduce).svg()
    assert line in stuck
    assert line not in right
    assert float(re.search(r'dur="([\d.]+)s"', stuck)[1]) > 3 * REST


@pytest.mark.parametrize("of", [ring.allreduce, sends_first])
def test_a_drawing_lasts_no_longer_than_it_may(of, tmp_path):
    drawing = animate(of).save(tmp_path / "moving.svg", longest=5).read_text()
    assert float(re.search(r'dur="([\d.]+)s"', drawing)[1]) <= 5
    assert float(re.search(r'dur="([\d.]+)s"', animate(of).svg())[1]) > 5


def test_what_is_too_much_to_watch_is_refused():
    def talks(comm):
        for _ in range(1002):
            one_message(comm, 8)

    with pytest.raises(ValueError, match="at most 1,000 messages can be watched, not 1,002"):
        animate(simulate(talks, 2))
    with pytest.raises(ValueError, match="1 to 16 ranks, not 17"):
        animate(simulate(one_message, 17, nbytes=1))
