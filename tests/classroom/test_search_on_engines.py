"""A search on real engines: what ranks find, also when the engines die in the middle of it."""

import os
from functools import partial

import pytest

from ddl_class.engines.by_view import EnginesGone, search
from ddl_teach import simulate
from ddl_teach.search import by_ranks
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.space import LogUniform, Space

pytestmark = [pytest.mark.real, pytest.mark.long]

HALVING = SuccessiveHalving(Space({"rate": LogUniform(1e-3, 3)}), 9, eta=3, least=2)


def descend(settings, state, steps, seed, deadly=None):
    """A parabola; with `deadly` the first process that comes to the second rung ends."""
    if deadly is not None and state is not None and not deadly.exists():
        deadly.touch()
        os._exit(3)
    weight = 1.0 if state is None else state["weight"]
    weight *= (1 - settings["rate"] / 3) ** steps
    return {"weight": weight}, weight * weight


def accuracy(settings, state):
    return 1 - state["weight"]


def summary(report):
    done = {(it.trial, it.rung, it.loss) for it in report.records if it.loss is not None}
    return done, report.winner.trial, report.accuracy


@pytest.mark.filterwarnings("ignore:an engine died")
def test_engines_that_die_are_told_of_and_the_search_goes_on_on_new_ones(engines, tmp_path):
    asked = {"decider": HALVING, "test": accuracy}
    undisturbed = simulate(by_ranks.search, 1, training=descend, **asked).results[0]
    deadly = partial(descend, deadly=tmp_path / "dead")
    journal = tmp_path / "journal"
    with pytest.raises(EnginesGone, match=r"(?s)died in rung 1 .*no\s+engine\s+is\s+left"):
        search(engines.client.load_balanced_view(), deadly, journal=journal, **asked)
    report = search(engines.client.load_balanced_view(), deadly, journal=journal, **asked)
    assert summary(report) == summary(undisturbed)
    assert report.runs > undisturbed.runs, "what was under way is told of as well"
