"""Optuna's searches keep the same budget as ours, and can be repeated."""

from collections import Counter

import pytest
from optuna import pruners, samplers

from benchmarks.optuna_decider import OptunaDecider
from ddl_teach import simulate
from ddl_teach.search import by_ranks
from ddl_teach.search.space import Choice, LogUniform, Space, UniformNumber, WholeNumber

SPACE = Space(
    {
        "rate": LogUniform(0.01, 3),
        "a": UniformNumber(-1, 1),
        "n": WholeNumber(2, 5),
        "of": Choice("x", 7),
    }
)
RUNGS = (2, 4, 8)


def descend(settings, state, steps, seed):
    done = steps + (0 if state is None else state["done"])
    if settings["rate"] > 2:
        raise OverflowError("too large")
    return {"done": done}, (1 - settings["rate"] / 3) ** done


def decider(pruner=None, seed=3):
    return OptunaDecider(
        SPACE,
        lambda seed: samplers.RandomSampler(seed=seed),
        lambda ends: pruner or pruners.NopPruner(),
        budget=100,
        rungs=RUNGS,
        seed=seed,
    )


def searched(decider, ranks=1):
    return simulate(by_ranks.search, ranks, training=descend, decider=decider).results[0]


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize(
    "pruner", [None, pruners.SuccessiveHalvingPruner(2, 3)], ids=["none", "halving"]
)
def test_the_budget_is_spent_and_not_more(ranks, pruner):
    report = searched(decider(pruner), ranks)
    done = [record for record in report.records if record.loss is not None]
    assert 100 - max(RUNGS) < sum(record.steps for record in done) <= 100
    assert {(record.rung, record.steps) for record in done} <= {*enumerate(RUNGS)}
    assert any(record.decision == "crashed" for record in report.records)
    for record in report.records:
        assert [*record.settings] == [*SPACE.axes]
        assert 0.01 <= record.settings["rate"] <= 3
        assert record.settings["n"] in range(2, 6)
        assert record.settings["of"] in ("x", 7)


def test_a_pruner_stops_most_trials_early_and_keeps_the_good_ones():
    plain, pruned = searched(decider()), searched(decider(pruners.SuccessiveHalvingPruner(2, 3)))
    assert pruned.progress.trials > plain.progress.trials
    rungs = Counter(record.rung for record in pruned.records if record.loss is not None)
    assert rungs[0] > 2 * rungs[1]
    assert pruned.winner.loss <= plain.winner.loss


def test_equal_seeds_give_equal_searches_and_a_decider_can_be_used_again():
    one = decider()
    assert searched(one).winner == searched(one).winner == searched(decider()).winner
    assert searched(decider(seed=4)).winner.settings != searched(one).winner.settings
