"""A puzzle: what the house calls the best known it can show, and a learner's best is kept."""

import csv
from pathlib import Path

import exercise_sources as sources
import numpy as np
import pytest

from ddl_class.exercises.check import check, verdict
from ddl_class.exercises.registry import find_exercise
from ddl_class.exercises.stages import SimulatedStage

pytestmark = pytest.mark.usefixtures("fresh_record")


def solution(ranks, micro_batches):
    answer = sources.function(sources.source_of("10"), "10.schedule")
    return answer(ranks, micro_batches)


def best_schedule(ranks, micro_batches):
    """With eight micro-batches what a search found: the turns of the solution, played again and
    again with other preferences, each change kept that made nothing slower."""
    if micro_batches != 8:
        return solution(ranks, micro_batches)
    path = Path(__file__).with_name("best_known_10.csv")
    return list(csv.reader(path.read_text().splitlines()))


def reached(answer):
    seconds = []
    stage, dice = SimulatedStage(answer, seconds=300.0), np.random.default_rng(1)
    assert verdict(find_exercise("10.schedule"), stage, dice, (), seconds.append) is None
    return seconds


def test_the_best_known_is_reached_and_is_better_than_the_solution():
    assert reached(best_schedule) == [find_exercise("10.schedule").best_known] < reached(solution)


def test_the_best_is_kept_and_stands_beside_the_best_known(capsys, monkeypatch):
    monkeypatch.setattr("ddl_class.exercises.check.maker", lambda *_: None)  # no cell of these
    best = find_exercise("10.schedule").best_known
    for answer, took, kept in ((solution, 27, 27), (best_schedule, best, best)):
        check("10.schedule", answer)
        says = f"Yours takes {took:g} seconds, your best so far {kept:g}, the best known {best:g}."
        assert says in capsys.readouterr().out
    check("10.schedule", solution)
    assert f"Yours takes 27 seconds, your best so far {best:g}" in capsys.readouterr().out
