"""consistency x distribution x compressor: what makes sense trains, what does not says why."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from benchmarks.combinations import (
    COMPRESSORS,
    CONSISTENCIES,
    DISTRIBUTIONS,
    all_of,
    every_pair,
    fits,
    sensible,
)  # fmt: skip
from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.training.compression.deep_gradient_compression import DeepGradientCompression
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.half import Half
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.compressed_gossip import MixesChanges
from ddl_teach.training.consistency.elastic import Elastic
from ddl_teach.training.consistency.gossip import Gossip
from ddl_teach.training.consistency.handles import Averages, Mixes, Serves
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.consistency.push_sum import PushesSums
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.neighbours import Neighbours
from ddl_teach.training.distribution.one_sided import OneSided
from ddl_teach.training.distribution.server import Server, Sharded
from ddl_teach.training.distribution.shared_vector import SharedVector
from ddl_teach.training.optimizers.lamb import LAMB
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.refusals import refusal
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

TASK = Digits(batch=32, hidden=32)
RULE = SGD(0.2)
STEPS = 20
HELD_OUT = 0.5  # at least half of them are right; who only guesses has a tenth


@pytest.mark.parametrize(
    "part", [*CONSISTENCIES, *DISTRIBUTIONS, *COMPRESSORS], ids=lambda part: type(part).__name__
)
def test_a_part_that_many_trainings_share_cannot_be_changed(part):
    with pytest.raises(FrozenInstanceError):
        part.period = 3
    assert part in {part}


def determined(one):
    """Whether nothing depends on who comes first, so that a run can be repeated to the bit."""
    if isinstance(one.distribution, OneSided):
        return False  # memory adds in the order of arrival
    if {Averages, Mixes, MixesChanges, PushesSums}.isdisjoint(one.consistency.needs):
        return isinstance(one.consistency, StaleSynchronous) and one.consistency.bound == 0
    # Springs over a server pull whenever their worker comes.
    return not (isinstance(one.consistency, Elastic) and Serves in one.distribution.offers)


def train_all(comm, combinations):
    """The final weights of this rank, one after another; None where it only serves."""
    return [
        train(comm, TASK, one.consistency, one.distribution, one.compressor, RULE, STEPS).weights
        for one in combinations
    ]


@pytest.mark.parametrize(
    "ranks", [2, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (1, 4, 5))]
)
def test_every_pair_learns_the_digits_and_simulated_to_the_same_bits(real, ranks):
    assert TASK.accuracy(TASK.initial()) < 0.2, "doing nothing must not be enough"
    distributions = tuple(
        distribution for distribution in DISTRIBUTIONS if fits(distribution, ranks)
    )
    chosen = every_pair(sensible(RULE, distributions=distributions), turn=3 * ranks)
    run = real(train_all, ranks, combinations=chosen, timeout=600, trace=False)
    for place, one in enumerate(chosen):
        for rank, weights in enumerate(result[place] for result in run.results):
            if weights is not None:
                right = TASK.accuracy(weights)
                assert right >= HELD_OUT, f"{one.name}: rank {rank} of {ranks} has {right:.3f}"

    again = [place for place, one in enumerate(chosen) if determined(one)]
    assert len(again) > 20
    again = again[ranks % 2 :: 2]
    twins = simulate(train_all, ranks, combinations=[chosen[place] for place in again])
    for ours, theirs in zip(run.results, twins.results, strict=True):
        for place, weights in zip(again, theirs, strict=True):
            assert np.array_equal(ours[place], weights), chosen[place].name


def test_every_refusal_says_why_and_what_to_try():
    refused = [one for one in all_of() if refusal(*one, RULE) is not None]
    assert len(refused) + len(sensible(RULE)) == len(CONSISTENCIES) * len(DISTRIBUTIONS) * len(
        COMPRESSORS
    )
    for one in refused:
        reason = refusal(*one, RULE)
        assert str(one.consistency) in reason
        assert str(one.distribution) in reason
        assert str(one.compressor) in reason
        assert any(word in reason for word in (": take ", "; take ", "Take ")), reason
    first = {(one.consistency, one.distribution): one for one in refused}
    for one in first.values():
        with pytest.raises(Exception, match="makes no sense") as refusing:
            simulate(
                train,
                2,
                task=TASK,
                consistency=one.consistency,
                distribution=one.distribution,
                compressor=one.compressor,
                steps=1,
            )
        assert "ValueError" in str(refusing.value)


@pytest.mark.parametrize(
    ("consistency", "distribution", "compressor", "update", "words"),
    [
        (Asynchronous(), AllReduce(), Dense(), RULE, "ends when all ranks have come"),
        (Asynchronous(), Neighbours(), Dense(), RULE, "counts the clocks"),
        (Asynchronous(), SharedVector(), Dense(), RULE, "no rank does"),
        (Synchronous(), Neighbours(), Dense(), RULE, "the mean of a few"),
        (Synchronous(), SharedVector(), Dense(), RULE, "write into one vector"),
        (Gossip(), AllReduce(), Dense(), RULE, "neighbours of all"),
        (Gossip(), Server(), Dense(), RULE, "have no neighbours"),
        (Gossip(), SharedVector(), Dense(), RULE, "has no neighbours"),
        (Hogwild(), AllReduce(), Dense(), RULE, "each rank has its own"),
        (Hogwild(), Server(), Dense(), RULE, "a server writes"),
        (Hogwild(), Neighbours(), Dense(), RULE, "each rank has its own"),
        (Hogwild(), SharedVector(), Half(), RULE, "nothing travels"),
        (Gossip(), Neighbours(), Feedback(TopK(0.1)), RULE, "what weights lose is the network"),
        (Asynchronous(), Sharded(2), Dense(), LAMB(TASK.layers), "whole layers"),
        (LocalSGD(), AllReduce(), DeepGradientCompression(), RULE, "momentum has been applied"),
        (Synchronous(), AllReduce(), DeepGradientCompression(), Momentum(), "count it twice"),
    ],
)
def test_what_makes_no_sense(consistency, distribution, compressor, update, words):
    assert words in refusal(consistency, distribution, compressor, update)


@pytest.mark.parametrize(
    "distribution", DISTRIBUTIONS, ids=lambda distribution: type(distribution).__name__
)
def test_every_path_makes_sense_with_something(distribution):
    assert any(one.distribution == distribution for one in sensible(RULE))


@pytest.mark.parametrize("compressor", COMPRESSORS, ids=str)
def test_every_form_makes_sense_with_sums_and_a_server(compressor):
    assert refusal(Synchronous(), AllReduce(), compressor, RULE) is None
    assert refusal(Asynchronous(), Server(), compressor, RULE) is None


def test_a_layer_wise_rule_makes_sense_with_a_server():
    assert refusal(Synchronous(), Server(), Dense(), LAMB(TASK.layers)) is None


@pytest.mark.parametrize(
    ("wrong", "example"),
    [
        ({"consistency": Synchronous}, r"consistency=Synchronous\(\)"),
        ({"distribution": "ring"}, r"distribution=AllReduce\(\)"),
        ({"compressor": Server()}, r"compressor=Dense\(\)"),
        ({"update": 0.1}, r"update=SGD\(0.1\)"),
        ({"task": Digits}, r"task=Digits\(\)"),
    ],
)
def test_what_is_no_part_of_a_training_is_named(wrong, example):
    with pytest.raises(Exception, match=example):
        simulate(train, 2, **{"task": TASK, "consistency": Synchronous()} | wrong)


def test_lock_free_workers_need_one_node():
    settings = {
        "task": TASK,
        "consistency": Hogwild(),
        "distribution": SharedVector(),
        "steps": STEPS,
    }
    run = simulate(train, 4, network=TwoLevel(4), **settings)
    assert TASK.accuracy(run.results[3].weights) >= HELD_OUT
    assert [result.total_bytes for result in run.results] == [0] * 4
    with pytest.raises(Exception, match="several nodes"):
        simulate(train, 4, network=TwoLevel(2), **settings)
