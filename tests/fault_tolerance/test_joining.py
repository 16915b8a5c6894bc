"""Open rounds: who joins has what the others have, who dies takes its own round along."""

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import DiagnosedError, RankFailed
from ddl_runtime.launcher.mpiexec import fault_tolerance, mpiexec_path
from ddl_teach import launch, simulate
from ddl_teach.fault_tolerance.joining import train_in_open_rounds
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits

TASK, ROUNDS, PERIOD = Digits(batch=2, hidden=4, dtype="float64"), 6, 3
# For each number of ranks: when each joins, and which dies in which step.
PLANS = {
    1: ([0], {}),
    2: ([0, 2], {}),
    3: ([1, 0, 4], {}),
    4: ([0, 0, 3, 9], {7: [1]}),
    5: ([0, 2, 0, 0, 1], {4: [0], 13: [3]}),
    8: ([3, 0, 0, 0, 5, 1, 0, 0], {0: [1], 8: [2, 3], 15: [0]}),
}


def dying(deaths, first):
    def before(comm, step):
        if first in deaths.get(step, ()):
            comm.die()

    return before


def training(comm, joins, deaths, momentum=0.5, rule=SGD(0.1)):
    before = dying(deaths, comm.rank)
    return train_in_open_rounds(comm, TASK, joins, ROUNDS, PERIOD, rule, momentum, before)


def twin(joins, deaths, momentum=0.5):
    """One process: in each round the shares of the members at its beginning, and the mean over
    those that live at its end."""
    weights, velocity, dead, members = TASK.initial(), 0.0, set(), {}
    for done in range(ROUNDS):
        here = [rank for rank, turn in enumerate(joins) if turn <= done and rank not in dead]
        steps = range(done * PERIOD, (done + 1) * PERIOD)
        dead |= {rank for step in steps for rank in deaths.get(step, ())}
        changes = []
        for part, rank in enumerate(here):
            if rank not in dead:
                own = weights.copy()
                for step in steps:
                    own -= 0.1 * TASK.gradient(own, part, len(here), step)[1]
                changes.append(own - weights)
        velocity = momentum * velocity + np.mean(changes, axis=0)
        weights = weights + velocity
        members[done] = [rank for rank in here if rank not in dead]
    return weights, members


def check(results, joins, deaths):
    weights, members = twin(joins, deaths)
    dead = {rank for many in deaths.values() for rank in many}
    for rank, result in enumerate(results):
        assert (result is None) == (rank in dead)
        if result is not None and joins[rank] < ROUNDS:
            np.testing.assert_allclose(result[0], weights, rtol=1e-12, atol=1e-13)
            assert result[1] == {
                done: here for done, here in members.items() if done >= joins[rank]
            }


@pytest.mark.parametrize("ranks", PLANS)
def test_it_is_its_serial_twin(ranks):
    joins, deaths = PLANS[ranks]
    check(simulate(training, ranks, joins=joins, deaths=deaths).results, joins, deaths)


@pytest.mark.real
@pytest.mark.parametrize("ranks", [3, 5])
def test_on_real_ranks_too(ranks):
    try:
        fault_tolerance(mpiexec_path())
    except DiagnosedError as none:
        pytest.skip(str(none))
    joins, deaths = PLANS[ranks]
    results = launch(
        training, ranks, survivors=True, timeout=120, joins=joins, deaths=deaths
    ).results
    if not deaths:
        return check(results, joins, deaths)
    # A rank that is late may see a death before it has begun the round: then the shares of those
    # who live are its shares. But all that live end with the same bits.
    left = [result for result in results if result is not None]
    assert [rank for rank, result in enumerate(results) if result is None] == [0, 3]
    assert len({weights.tobytes() for weights, _ in left}) == 1
    assert left[0][1][ROUNDS - 1] == [1, 2, 4]
    assert TASK.loss(left[0][0]) < TASK.loss(TASK.initial())


def test_a_death_and_a_late_start_both_matter():
    joins, deaths = PLANS[5]
    assert not np.allclose(twin(joins, deaths)[0], twin(joins, {})[0])
    assert not np.allclose(twin(joins, {})[0], twin([0] * 5, {})[0])


def test_a_joiner_gets_weights_and_velocity_in_one_message():
    joins = [0, 2]
    run = simulate(training, 2, joins=joins, deaths={})
    alone = simulate(training, 2, joins=[0, 0], deaths={})
    size = TASK.initial().nbytes
    # Two rounds less in which rank 0 sends a mean, and the state once.
    assert run.ledger[0].bytes_sent == alone.ledger[0].bytes_sent - 2 * size + 2 * size


def test_any_rule_of_the_inner_steps():
    run = simulate(training, 3, joins=[0, 0, 2], deaths={}, rule=Momentum(0.05))
    first, *others = [weights for weights, _ in run.results]
    assert all(np.array_equal(first, weights) for weights in others)


@pytest.mark.parametrize("joins", [[0], [1, 1], [0, 0, 0]])
def test_joins_need_a_round_for_each_rank_and_one_that_begins(joins):
    with pytest.raises(RankFailed, match="give a round for each rank"):
        simulate(training, 2, joins=joins, deaths={})
