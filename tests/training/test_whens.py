"""What each consistency is equal to, and whom it waits for."""

import numpy as np
import pytest

from ddl_teach import simulate
from ddl_teach.theory.elastic import share_of_the_way
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.adaptive_local import AdaptiveLocalSGD
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.backup_workers import BackupWorkers
from ddl_teach.training.consistency.block_momentum import BlockMomentum
from ddl_teach.training.consistency.elastic import Elastic
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.consistency.post_local import PostLocalSGD
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.server import Server, Sharded
from ddl_teach.training.optimizers.adagrad import AdaGrad
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.nesterov import Nesterov
from ddl_teach.training.optimizers.rmsprop import RMSProp
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.trainer import train

TASK = Digits(batch=3, hidden=5, dtype="float64")
RULES = {"sgd": SGD(0.3), "momentum": Momentum(0.1), "adam": Adam(0.01)}
CLOSE = 1e-10
STEPS = 12
FEW = 5


def trained(ranks, consistency, distribution=AllReduce(), task=TASK, **settings):
    """The results of simulated workers."""
    settings = {"update": SGD(0.3), "steps": STEPS} | settings
    run = simulate(
        train, ranks, task=task, consistency=consistency, distribution=distribution, **settings
    )
    return [result for result in run.results if result.worker is not None]


def apart(ours, theirs):
    return np.abs(ours - theirs).max()


def proofs(comm):
    """Trains what must be alike: how far apart it ends, and how far apart what is not alike."""
    found = {}
    for name, rule in RULES.items():
        settings = {"comm": comm, "task": TASK, "update": rule, "steps": FEW}
        everybody = train(consistency=Synchronous(), **settings).weights
        found[name, "other"] = apart(train(consistency=LocalSGD(3), **settings).weights, everybody)
        if name != "adam":  # whose steps are not linear in the gradients
            found[name, "period 1"] = apart(
                train(consistency=LocalSGD(1), **settings).weights, everybody
            )
        distribution = Server() if name == "adam" or comm.size == 2 else Sharded(2)
        serving = distribution.servers if comm.size > 1 else 0
        served = train(
            consistency=StaleSynchronous(0), distribution=distribution, **settings
        ).weights
        averaged = train(consistency=Synchronous(), distribution=distribution, **settings).weights
        workers = comm.split(0 if comm.rank >= serving else None)
        if workers is not None:  # the same ones, without servers
            alone = train(**settings | {"comm": workers}, consistency=Synchronous()).weights
            found[name, "bound 0"] = apart(served, alone)
            found[name, "averages"] = apart(averaged, alone)
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(6)
def test_period_one_and_bound_zero_are_synchronous(real, ranks):
    for run in (real(proofs, ranks, timeout=600, trace=False), simulate(proofs, ranks)):
        for found in run.results:
            others = [found.pop((name, "other")) for name in RULES]
            assert ranks == 1 or min(others) > 1e-4, "a period of 3 is something else"
            assert max(found.values()) < CLOSE


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.parametrize(
    ("rule", "alike"),
    [
        (SGD(0.3), True),
        (Momentum(0.1), True),
        (Nesterov(0.1), True),
        (Adam(0.01), False),
        (AdaGrad(0.1), False),
        (RMSProp(0.01), False),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.sampled(3)
def test_averaging_weights_is_averaging_gradients_where_no_gradient_is_squared(rule, alike, ranks):
    gradients = trained(ranks, Synchronous(), update=rule)[0].weights
    weights = trained(ranks, LocalSGD(1), update=rule)[0].weights
    assert (apart(weights, gradients) < CLOSE) == alike
    assert alike or apart(weights, gradients) > 1e-4


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_synchronous_workers_are_one_with_all_their_samples(ranks):
    whole = Digits(batch=3 * ranks, hidden=5, dtype="float64")
    [one] = trained(1, Synchronous(), task=whole, update=Momentum(0.1))
    for result in trained(ranks, Synchronous(), update=Momentum(0.1)):
        assert apart(result.weights, one.weights) < CLOSE


# Over a server the centre moves with every worker that comes, so that it rests only as nearly as
# one worker's spring is weak.
@pytest.mark.parametrize(
    ("distribution", "spring", "nearly"), [(AllReduce(), 0.8, 1e-6), (Server(), 0.04, 0.02)]
)
def test_elastic_averaging_rests_where_its_springs_balance(distribution, spring, nearly):
    rate, workers, curvatures = 0.2, 4, (1.0, 0.4)
    task = Quadratic(curvatures, apart=2.0)
    ranks = workers + (distribution == Server())
    consistency = Elastic(period=1, spring=spring)
    settings = {"distribution": distribution, "task": task, "update": SGD(rate), "steps": 400}
    shares = np.array(
        [share_of_the_way(rate, h, consistency.spring / workers) for h in curvatures]
    )
    for result in trained(ranks, consistency, **settings):
        wanted = task.minimum(result.worker, workers)
        own = 0.5 * np.array(curvatures) @ (wanted * (1 - shares)) ** 2
        assert result.losses[-1] == pytest.approx(own, rel=nearly)
        np.testing.assert_allclose(result.weights, 0, atol=nearly)  # the centre: all minima's mean


@pytest.mark.parametrize("nesterov", [False, True])
def test_block_momentum_is_its_formula(nesterov):
    workers, period, momentum, rate = 3, 4, 0.6, 0.3
    agreed, velocity = TASK.initial(), 0
    for begin in range(0, STEPS, period):
        ends = []
        for part in range(workers):
            own = agreed.copy()
            for step in range(begin, begin + period):
                own -= rate * TASK.gradient(own, part, workers, step)[1]
            ends.append(own)
        change = np.mean(ends, axis=0) - agreed
        velocity = momentum * velocity + change
        agreed = agreed + (change + momentum * velocity if nesterov else velocity)
    for result in trained(workers, BlockMomentum(period, momentum, nesterov)):
        assert apart(result.weights, agreed) < CLOSE
    plain = trained(workers, BlockMomentum(period, 0.0))[0].weights
    assert apart(plain, trained(workers, LocalSGD(period))[0].weights) < CLOSE
    assert apart(plain, agreed) > 1e-3
    half = trained(2, BlockMomentum(period))[0].weights
    assert apart(half, trained(2, BlockMomentum(period, 0.5))[0].weights) == 0


def rounds_of(consistency, steps):
    """How many steps each round had, as an all-reduce sees them."""
    asked, rounds = [], []

    class Counted(Quadratic):
        def gradient(self, weights, part, parts, step):
            asked.append(step)
            return super().gradient(weights, part, parts, step)

    def allreduce(comm, x):
        rounds.append(max(asked) + 1)

    task = Counted((1.0, 0.3))
    trained(1, consistency, AllReduce(allreduce), task=task, update=SGD(0.1), steps=steps)
    return np.diff([0, *rounds]).tolist()


def test_rounds_are_as_long_as_they_should_be():
    assert rounds_of(LocalSGD(4), 10) == [4, 4, 2]
    assert rounds_of(PostLocalSGD(switch=3, period=4), 9) == [1, 1, 1, 4, 2]
    adaptive = rounds_of(AdaptiveLocalSGD(6), 60)
    assert adaptive[0] == 6, "as long as at first"
    assert adaptive[-2] == 1, "the loss has become small"
    assert sorted(adaptive[:-1], reverse=True) == adaptive[:-1]
    assert sum(adaptive) == 60


SLOW = 2  # the worker that is always ten times slower


def one_is_slow(worker, step):
    return 1.0 if worker == SLOW else 0.1


def test_backup_workers_do_not_wait_for_the_last_one():
    run = simulate(
        train, 4, task=TASK, consistency=BackupWorkers(1), distribution=Server(), update=SGD(0.3),
        steps=STEPS,
        pace=one_is_slow,
    )  # fmt: skip
    weights = TASK.initial()
    for step in range(STEPS):  # the gradients of the slow one never count
        gradients = [TASK.gradient(weights, part, 3, step)[1] for part in (0, 1)]
        weights -= 0.3 * np.mean(gradients, axis=0)
    server, *workers = run.results
    assert apart(workers[0].weights, weights) < CLOSE
    assert server.report.dropped >= 1
    assert set(server.report.staleness) == {0}
    assert workers[0].seconds[-1] == pytest.approx(STEPS * 0.1, rel=0.01)


@pytest.mark.parametrize("bound", [1, 3, None])
def test_the_bound_is_how_far_ahead_anybody_gets(bound):
    consistency = Asynchronous() if bound is None else StaleSynchronous(bound)
    run = simulate(
        train, 4, task=TASK, consistency=consistency, distribution=Server(), update=SGD(0.05),
        steps=STEPS,
        pace=one_is_slow,
    )  # fmt: skip
    report = run.results[0].report
    made, lead = [0, 0, 0], 0
    for worker in report.workers:
        made[worker] += 1
        lead = max(lead, made[worker] - min(made))
    assert made == [STEPS] * 3
    fast = run.results[1].seconds[-1]
    if bound is None:
        assert lead >= 9, "nobody waits"
        assert fast == pytest.approx(STEPS * 0.1, rel=0.01)
        assert max(report.staleness) >= 18, "of two fast ones while the slow one computes"
    else:
        assert lead == bound + 1, "so many finished, and one more under way"
        assert fast > (STEPS - bound - 2) * 1.0, "the slow one sets the pace"
        assert max(report.staleness) <= (2 * bound + 1) * 2


def test_a_rank_alone_is_its_own_server():
    [result] = trained(1, Asynchronous(), Server())
    assert result.report.steps == STEPS
    assert set(result.report.staleness) == {0}
    assert result.total_bytes == 0


def test_damping_is_a_factor_of_each_gradient():
    settings = {"distribution": Server(), "pace": one_is_slow, "steps": 5}
    still = trained(4, Asynchronous(damp=lambda staleness: 0.0), **settings)
    assert apart(still[0].weights, TASK.initial()) == 0
    damped = trained(4, Asynchronous(damp=lambda staleness: 1 / (1 + staleness)), **settings)
    assert apart(damped[0].weights, trained(4, Asynchronous(), **settings)[0].weights) > 1e-4


def test_the_diary_and_the_bytes():
    compressor = Feedback(TopK(0.1))
    for result in trained(3, Synchronous(), compressor=compressor, pace=lambda worker, step: 0.5):
        assert len(result.losses) == len(result.seconds) == len(result.bytes) == STEPS
        assert result.seconds[0] == pytest.approx(0.5)
        message = compressor.nbytes(TASK.layers[-1])
        np.testing.assert_array_equal(result.bytes, 2 * message * np.arange(STEPS))
        assert result.total_bytes == 2 * message * STEPS
        assert result.total_seconds == pytest.approx(0.5 * STEPS, rel=0.01)


def test_settings_that_cannot_be_are_refused():
    for wrong in (
        lambda: LocalSGD(0), lambda: PostLocalSGD(-1), lambda: AdaptiveLocalSGD(0),
        lambda: BlockMomentum(4, 1.0), lambda: Elastic(0), lambda: Elastic(1, 1.5),
        lambda: StaleSynchronous(-1), lambda: BackupWorkers(-1),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="must be"):
            wrong()
    with pytest.raises(Exception, match="of 3 workers at most 2 may be late"):
        trained(4, BackupWorkers(3), Server())
    with pytest.raises(Exception, match="steps=-1"):
        trained(1, Synchronous(), steps=-1)
    assert trained(2, Synchronous(), compressor=Dense(), steps=0)[0].losses == ()
