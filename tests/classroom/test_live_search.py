"""A search is drawn in one place, not too often, and at its end for certain."""

import sys
from types import SimpleNamespace

import pytest

from ddl_class.notebook import live_search
from ddl_class.notebook.live_search import LiveSearch
from ddl_teach import simulate
from ddl_teach.search import by_ranks
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.space import LogUniform, Space


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(live_search.time, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def shown(monkeypatch):
    """What the one place of the notebook has shown, and how it was put there."""
    shown = []
    handle = SimpleNamespace(
        display=lambda picture: shown.append(("display", picture)),
        update=lambda picture: shown.append(("update", picture)),
    )
    monkeypatch.setattr(live_search, "DisplayHandle", lambda: handle)
    monkeypatch.setattr(live_search, "get_ipython", object)
    return shown


def descend(settings, state, steps, seed):
    done = steps + (0 if state is None else state["done"])
    return {"done": done}, (1 - settings["rate"] / 3) ** done


def watched(live):
    decider = SuccessiveHalving(Space({"rate": LogUniform(1e-3, 2)}), 9, eta=3, least=4)
    looks = []

    def program(comm):
        def watch(records):
            looks.append(len(records))
            live(records)

        by_ranks.search(comm, descend, decider, watch=watch)

    simulate(program, 1)
    return len(looks)


def test_the_first_and_the_last_are_shown_in_one_place(clock, shown):
    looks = watched(LiveSearch(108))
    assert looks > 20
    assert [how for how, _ in shown] == ["display"] + ["update"] * (len(shown) - 1)
    assert len(shown) <= 5, "the clock stood still: only the first, and where all was decided"
    assert "is the best" in shown[-1][1].alt
    assert "13 jobs done" in shown[-1][1].alt
    assert "108 of 108 steps" in shown[-1][1].alt


def test_time_goes_on_while_nothing_happens(clock, shown):
    live = LiveSearch()
    record = {"trial": 3, "rung": 0, "settings": {}, "steps": 9, "loss": None, "worker": 0}
    running = SimpleNamespace(**record, decision="running", start=5.0, end=None)
    for _ in range(10):
        live([running])
        clock.now += 0.1
    assert 3 <= len(shown) <= 5
    assert "done in 5.9 s" in shown[-1][1].alt


def test_where_nobody_looks_nothing_is_shown_and_a_terminal_gets_a_line(monkeypatch, capsys):
    watched(LiveSearch(108))
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    watched(LiveSearch(108))
    lines = capsys.readouterr().out.split("\r")
    assert lines[-1].endswith("\n")
    assert "is the best" in lines[-1]
    assert {len(line.rstrip("\n")) for line in lines[1:]} == {live_search.WIDE}
