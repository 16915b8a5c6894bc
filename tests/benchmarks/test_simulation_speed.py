"""What the speed of simulations is measured with counts what it says, and changes no result."""

import re

import pytest

from benchmarks import simulation_speed
from benchmarks.simulation_speed import ALONE, PROGRAMS, WATCHED, Silent, counted
from ddl_teach import Phantom
from ddl_teach.collectives import ring


def test_a_message_takes_instructions_and_a_strict_one_more():
    plain, strict = counted(False, 8), counted(True, 8)
    assert 100 < plain < strict < 1000
    assert counted(False, 8) == pytest.approx(plain, rel=0.05)


def test_the_program_alone_calls_as_often_as_a_rank(monkeypatch):
    calls = []
    monkeypatch.setattr(Silent, "sendrecv", lambda *given: calls.append(given))
    ring.allreduce(Silent(), Phantom(1 << 20))
    assert len(calls) == 2 * (Silent.size - 1)


@pytest.mark.parametrize("name", ALONE)
def test_what_runs_alone_tells_its_seconds_and_its_memory(name, capsys):
    simulation_speed.alone(name, 64)
    seconds, gigabytes = map(float, capsys.readouterr().out.split())
    assert seconds > 0 <= gigabytes < 1


@pytest.mark.parametrize("how", WATCHED)
def test_who_is_watched_sends_the_same(how):
    run = PROGRAMS["2 ranks, isend and irecv, 1 KiB"]
    plain, watched = run(trace=False), run(**WATCHED[how])
    assert [book.messages for book in watched.ledger] == [book.messages for book in plain.ledger]
    assert watched.time == plain.time


def test_a_strict_ring_waits_at_least_for_every_second_message():
    assert simulation_speed.waits(False, 16) < 0.2
    assert 0.5 <= simulation_speed.waits(True, 16) < 1


def test_what_the_parts_take_alone_is_told():
    words = simulation_speed.parts()
    assert len(re.findall(r" \d+ [nu]s", words)) == 4
