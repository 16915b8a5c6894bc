"""The harness catches every planted bug and accuses no right part; learners' checks are judged."""

import math

import numpy as np
import pytest
from examinations import EXAMINATIONS, wrong

from ddl_class.exercises.mutants.bug import BUGS, Bug, planted, untouched
from ddl_class.exercises.mutants.suspects import find, parts, suspects, tell
from ddl_teach.training.tasks.digits import Digits

RING = "collectives.ring.allreduce"


@pytest.mark.parametrize("part", EXAMINATIONS)
def test_every_part_passes_and_none_of_its_wrong_twins_does(part):
    assert wrong(part, untouched(part)) < 0.5
    mine = [bug for bug in BUGS if bug.part == part]
    assert mine
    for bug in mine:
        assert 5 < wrong(part, planted(bug)) < math.inf  # it runs, and what it does is wrong


def test_what_stops_or_gives_no_number_is_infinitely_wrong():
    assert wrong("training.tasks.perceptron.softmax", None) == math.inf
    assert wrong("training.tasks.perceptron.softmax", lambda scores: scores * math.nan) == math.inf


def test_there_are_bugs_of_every_kind():
    assert len(BUGS) == len(set(BUGS)) >= 15
    assert {bug.part for bug in BUGS} == set(EXAMINATIONS)
    assert {bug.level for bug in BUGS} == {"operators", "training", "distributed"}
    assert len({bug.what for bug in BUGS}) == len(BUGS)
    rooms = {bug.part.split(".")[0] for bug in BUGS}
    assert rooms == {"training", "collectives", "networks", "operators"}


@pytest.mark.parametrize(
    "bug", [bug for bug in BUGS if bug.level == "training"], ids=lambda bug: bug.what
)
def test_an_optimizer_with_a_planted_bug_still_trains(bug):
    task = Digits(batch=32)
    rule = planted(bug)(rate=0.003 if "rmsprop" in bug.part else 0.01)
    weights = task.initial()
    states = [np.zeros_like(weights) for _ in range(rule.states)]
    for step in range(150):
        rule(weights, task.gradient(weights, 0, 1, step)[1], states, step + 1)
    assert task.accuracy(weights) > 0.6


def test_a_planted_bug_travels_to_real_ranks(real):
    def program(comm, candidates):
        found = []
        for candidate in candidates:
            x = np.full(6, comm.rank + 1.0)
            candidate(comm, x)
            found.append(x.tolist())
        return found

    bug = next(bug for bug in BUGS if bug.part == RING)
    for right, wrong_one in real(program, 3, candidates=[untouched(RING), planted(bug)]).results:
        assert right == [6.0] * 6
        assert wrong_one != right


def test_suspects_have_numbers_and_nothing_else_that_tells():
    everybody = suspects()
    assert [suspect.number for suspect in everybody] == list(range(len(BUGS) + len(parts())))
    for part in parts():
        mine = suspects(part)
        assert mine == tuple(suspect for suspect in everybody if suspect.part == part)
        assert len(mine) == 1 + sum(bug.part == part for bug in BUGS)
        assert all("ddl_teach" not in suspect.candidate.__module__ for suspect in mine)
        verdicts = [tell(suspect.number) for suspect in mine]
        assert sum(verdict.endswith(": right") for verdict in verdicts) == 1
    first = {part: tell(suspects(part)[0].number).endswith(": right") for part in parts()}
    assert 3 < sum(first.values()) < len(first) - 3  # the right one is not always the first
    with pytest.raises(ValueError, match="the suspects are 0 to"):
        tell(len(everybody))
    with pytest.raises(ValueError, match=r"take one of training\.optimizers\.adam\.Adam, "):
        suspects("training.optimizers.adam")


def test_a_check_must_catch_all_that_are_wrong_and_accuse_nobody_else():
    part = "training.optimizers.adam.Adam"
    numbers = {suspect.number for suspect in suspects(part)}
    good = find(lambda candidate: wrong(part, candidate) < 1, part)
    assert good.all
    assert len(good.caught) == 2
    assert str(good) == "2 of 2 bugs caught"
    blind = find(lambda candidate: True, part)
    assert blind.missed == good.caught
    assert not blind.all
    assert str(blind).startswith("0 of 2 bugs caught; missed: number ")
    for harsh, raised in ((lambda it: False, ""), (lambda it: 1 / 0, "ZeroDivisionError")):
        found = find(harsh, part)
        assert {*found.caught, *found.accused} == numbers
        assert not found.all
        assert "accused though right: number " in str(found)
        assert found.raised.partition(":")[0] == raised
        assert ("Look at the check itself" in str(found)) == bool(raised)
    with pytest.raises(TypeError, match=r"says True .right. or False .wrong., not None"):
        find(lambda candidate: None, part)


def test_a_line_that_is_gone_is_missed():
    gone = Bug(RING, "distributed", "no such line", "", "", "")
    twice = Bug(RING, "distributed", "(rank - 1) % size", "", "", "")
    for bug, times in ((gone, 0), (twice, 2)):
        with pytest.raises(ValueError, match=f"stands {times} times"):
            planted(bug)
