"""Actors and a learner give what one process gives, and no answer is older than the bound."""

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from places import TENSORS

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.comm import Phantom
from ddl_teach.serving.actors import alone, learn
from ddl_teach.serving.sorting import Sorting
from ddl_teach.theory import stragglers
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.paces import ByChance

STEPS, PER_STEP = 4, 3
from_two_ranks = pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])


def small(**other):
    return Sorting(
        **{"digits": 2, "values": 3, "questions": 3, "group": 4, "imitation": 4} | other
    )


def of_size(weights, rows):
    """A policy of which only sizes are known."""
    return SimpleNamespace(
        rule=SGD(0.1),
        initial=partial(Phantom, weights),
        room=partial(Phantom, rows),
        answers=lambda weights, ticket: Phantom(rows),
    )


def uneven(ticket):
    """Seconds that arrive in another order than their tickets."""
    return 1e-3 * (1 + (7 * ticket) % 5)


@pytest.fixture(scope="module")
def one_process():
    return alone(small(), STEPS, PER_STEP)


def run_small(comm, bound):
    consistency = Asynchronous() if bound == math.inf else StaleSynchronous(bound)
    return learn(comm, small(), consistency, STEPS, PER_STEP, uneven, 5e-4)


PLAIN = {"rule": SGD(0.1), "imitation": 0}  # Adam makes a step of a gradient of 1e-17


def learn_there(comm, where):
    """What is learnt on a device, and the learner's copies to the host meanwhile."""
    comm.device = where
    since = copies_to_host(where)
    learnt = learn(comm, small(**PLAIN), Synchronous(), STEPS, PER_STEP, uneven, 5e-4)
    return learnt and (learnt.weights, copies_to_host(where) - since)


def copies_to_host(where):
    empty = torch.empty(0, device=where)
    return empty.comm_device.traffic.copies_to_host if where != "cuda" else 0


@pytest.mark.parametrize("where", TENSORS)
def test_policies_answer_and_learn_on_the_ranks_device(where):
    pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError)
    weights, copies = simulate(learn_there, 2, threads=True, where=where).results[0]
    first, right = small(**PLAIN).initial(), alone(small(**PLAIN), STEPS, PER_STEP)
    assert np.allclose(weights, right, rtol=1e-9, atol=1e-12)
    assert not np.allclose(first, right, rtol=1e-3)
    assert copies > STEPS * PER_STEP or where == "cuda"  # a gradient of each ticket


@from_two_ranks
@pytest.mark.parametrize("consistency", [Synchronous(), StaleSynchronous(0)], ids=str)
def test_with_no_step_between_the_weights_are_those_of_one_process(
    ranks, consistency, one_process
):
    given = {"consistency": consistency, "steps": STEPS, "per_step": PER_STEP, "answering": uneven}
    result = simulate(learn, ranks, policy=small(), training=1e-3, **given).results[0]
    assert np.array_equal(result.weights, one_process)
    assert result.report.staleness == (0,) * STEPS * PER_STEP


@pytest.mark.parametrize("ranks", [2, 3, 5, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("bound", [0, 2])
def test_real_ranks_learn_the_same(ranks, bound, one_process, real):
    result = real(run_small, ranks, bound=bound).results[0]
    if bound == 0:
        assert np.array_equal(result.weights, one_process)
    assert max(result.report.staleness) <= bound
    assert result.report.steps == STEPS


@from_two_ranks
@pytest.mark.parametrize("bound", [0, 1, 2, math.inf])
def test_no_answer_is_older_than_the_bound(ranks, bound):
    run = simulate(run_small, ranks, bound=bound)
    ages = run.results[0].report.staleness
    assert len(ages) == STEPS * PER_STEP
    assert min(ages) >= 0
    assert max(ages) <= bound
    assert max(ages) <= max(1, ranks - 1)  # so many tickets are under way at most, or one waits
    assert run.results[1:] == [None] * (ranks - 1)


def test_one_actor_that_is_always_ahead_is_the_loop_with_old_weights():
    policy = small()
    run = simulate(
        learn, 2, policy=policy, consistency=StaleSynchronous(1), steps=5, per_step=1,
        answering=lambda ticket: 1.0, training=1.5,
    )  # fmt: skip
    assert run.results[0].report.staleness == (0, 1, 1, 1, 1)
    assert np.array_equal(run.results[0].weights, alone(policy, 5, age=1))
    assert not np.array_equal(run.results[0].weights, alone(policy, 5))


def test_the_ledger_holds_weights_out_and_answers_in():
    run = simulate(
        learn, 4, policy=of_size(1000, 300), consistency=Synchronous(), steps=2, per_step=6
    )
    # With each ticket and its answers travel two numbers of 8 bytes; three more tickets say end.
    assert run.ledger[0].bytes_sent == 12 * (1000 + 16) + 3 * 16
    assert run.bytes_to(0) == 12 * (300 + 16)


@pytest.mark.parametrize("actors", [1, 2, 3, 4, 7, 15])
@pytest.mark.parametrize("transfer", [0.0, 0.02])
@pytest.mark.parametrize("training", [0.5, 3.0])  # actors are the slower side, or the learner is
def test_a_step_takes_what_the_formulas_say(actors, transfer, training):
    network = Uniform(0.0, 1e6 / transfer if transfer else 1e15)
    policy, steps, pace = of_size(1_000_000, 8), 60, ByChance(1.0)

    def seconds(consistency):
        run = simulate(
            learn, actors + 1, network=network, trace=False, policy=policy,
            consistency=consistency, steps=steps, per_step=actors,
            answering=lambda ticket: pace(0, ticket), training=training,
        )  # fmt: skip
        return run.time / steps

    in_turn = stragglers.answered_in_turn(actors, 1.0, training, transfer)
    assert seconds(Synchronous()) == pytest.approx(in_turn, rel=0.15)
    ahead = stragglers.answered_ahead(actors, actors, 1.0, training, transfer)
    assert seconds(Asynchronous()) == pytest.approx(ahead, rel=0.2)


def test_one_rank_is_refused_and_the_words_say_what_to_take():
    with pytest.raises(RankFailed, match="alone"):
        simulate(learn, 1, policy=small(), consistency=Synchronous(), steps=1, per_step=1)
