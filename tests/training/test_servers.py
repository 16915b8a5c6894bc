"""Servers: the training of one process, clocks that keep their bound, and who comes or goes."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.theory import servers as theory
from ddl_teach.theory.machine import Link
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.hierarchical import Hierarchical
from ddl_teach.training.distribution.mean import mean_of_workers
from ddl_teach.training.distribution.server import Server, ServerLoop, Sharded
from ddl_teach.training.distribution.server_state import ServerState
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.sgd import SGD

SIZE, STEPS = 11, 4
PATHS = (Server(), Sharded(2), Sharded(3), Hierarchical(), Hierarchical(2), Hierarchical(3))


def toy_gradient(weights, worker, clock):
    """Another one for each worker, clock and place."""
    return 0.3 * weights + np.arange(SIZE) - 2.0 * worker**2 + clock


def twin(workers, rule, steps=STEPS):
    """What one process with all gradients gets."""
    weights = np.ones(SIZE)
    states = [np.zeros(SIZE) for _ in range(rule.states)]
    for clock in range(steps):
        mean = sum(toy_gradient(weights, worker, clock) for worker in range(workers)) / workers
        rule(weights, mean, states, clock + 1)
    return weights


def follow(comm, distribution, service, steps=STEPS, before=lambda comm, worker, clock: True):
    """One rank of a training; a worker falls silent when `before` says so."""
    weights = np.ones(SIZE)
    handle = distribution.open(comm, weights, Dense(), service)
    if handle.worker is None:
        return handle.serve()
    clock = handle.pull(weights)
    while clock < steps:
        if not before(comm, handle.worker, clock):
            return weights
        handle.push(toy_gradient(weights, handle.worker, clock))
        clock = handle.pull(weights)
    handle.leave()
    return weights


def all_paths(comm, rule):
    """How far each distribution's result is from the twin's, and what each sent on the way."""
    apart, sent = [], [comm.ledger.bytes_sent]
    for distribution in PATHS:
        servers = getattr(distribution, "servers", 1) if comm.size > 1 else 0
        if servers >= comm.size:
            continue
        mine = follow(comm, distribution, Service(rule))
        right = twin(comm.size - servers, rule)
        apart.append(np.abs(mine - right).max() if isinstance(mine, np.ndarray) else 0.0)
        sent.append(comm.ledger.bytes_sent)
        comm.barrier()
    return apart, np.diff(sent)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(2)
def test_a_synchronous_server_steps_as_one_process_would(ranks, real):
    run = real(all_paths, ranks, rule=Momentum(0.1, 0.9))
    assert max(max(apart) for apart, _ in run.results) < 1e-12


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_and_so_do_simulated_ones(ranks):
    run = simulate(all_paths, ranks, rule=SGD(0.2))
    assert max(max(apart) for apart, _ in run.results) < 1e-12


def test_without_messages_it_would_end_elsewhere():
    assert np.abs(twin(3, SGD(0.2)) - twin(1, SGD(0.2))).max() > 0.1


def one_average(comm, distribution, size):
    """The mean of vectors that tell their ranks apart."""
    vector = np.full(size, comm.rank, np.float32)
    handle = distribution.open(comm, vector, Dense(), Service())
    if handle.worker is None:
        return handle.serve()
    begun = comm.now()
    handle.average(vector)
    took = comm.now() - begun
    handle.leave()
    return vector, took


def own_numbers_averaged(comm, servers):
    x = np.full(SIZE, float(comm.rank))
    mean_of_workers(comm, x, servers)
    return x


@pytest.mark.parametrize(("servers", "workers"), [(1, 1), (1, 2), (1, 4), (2, 3), (3, 5)])
def test_the_mean_of_workers_comes_to_all_of_them(servers, workers, real):
    ranks = servers + workers
    for run in (simulate(own_numbers_averaged, ranks, servers=servers),
                real(own_numbers_averaged, ranks, servers=servers)):  # fmt: skip
        own = [run.results[rank][0] for rank in range(ranks)]
        middle = sum(range(servers, ranks)) / workers
        assert own.count(middle) >= workers
        assert all((run.results[rank] == run.results[rank][0]).all() for rank in range(ranks))


@pytest.mark.parametrize(("servers", "workers"), [(1, 1), (1, 4), (2, 3), (3, 5)])
def test_ingress_is_the_formula_to_the_byte(servers, workers, real):
    distribution, size, ranks = Sharded(servers), 60_000, servers + workers
    network = Uniform(1e-5, 1e9)
    for run in (real(one_average, ranks, distribution=distribution, size=size),
                simulate(one_average, ranks, network=network, distribution=distribution,
                size=size)):  # fmt: skip
        mean = (servers + ranks - 1) / 2
        assert all(np.array_equal(x, np.full(size, mean)) for x, _ in run.results[servers:])
        for server in range(servers):
            came = sum(ledger.bytes_to(server) for ledger in run.ledger[servers:])
            leaving = workers * theory.REQUEST
            assert came - leaving == theory.server_ingress(workers, 4 * size, servers)
            went = workers * (4 * size / servers + theory.ANSWER)
            assert run.ledger[server].bytes_sent == went
    took = max(time for _, time in run.results[servers:])
    told = theory.server_step(workers, 4 * size, Link(1e-5, 1e-9), servers)
    assert took == pytest.approx(told, 0.01)


def test_only_leaders_speak_to_the_server(real):
    distribution, size, ranks = Hierarchical(3), 6_000, 8
    split = {"distribution": distribution, "size": size}
    for run in (real(one_average, ranks, **split), simulate(one_average, ranks, **split)):
        assert all(np.allclose(x, np.full(size, 4.0)) for x, _ in run.results[1:])
        said = [m for ledger in run.ledger for m in ledger.messages if m.kind == "host"]
        came = sum(m.bytes for m in said if m.peer == 0) - 3 * theory.REQUEST
        assert came == theory.server_ingress(3, 4 * size)


@dataclass(frozen=True)
class Count:
    """A rule that counts in every place how often it was called."""

    states: ClassVar[int] = 0
    elementwise: ClassVar[bool] = True

    def __call__(self, weights, update, states, step):
        weights += 1


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bound", [0, 1, 3, math.inf])
def test_nobody_gets_further_ahead_than_the_bound(bound, seed):
    """Any order of events: whoever can act is drawn by lot."""
    lots, workers, steps = np.random.default_rng(seed), 4, 6
    state = ServerState(np.zeros(3), workers, Service(Count(), bound))
    computing, asked, furthest = set(range(workers)), set(), 0
    while state.open:
        worker = lots.choice(sorted(computing))
        state.push(worker, state.version if not bound else 0, np.ones(3))
        state.pull(worker)
        computing.remove(worker)
        asked.add(worker)
        for ready in state.answers():
            asked.remove(ready)
            present = [state.clock[other] for other in state.here]
            assert state.clock[ready] - min(present) <= bound
            furthest = max(furthest, state.clock[ready] - min(present))
            if state.clock[ready] == steps:
                state.leave(ready)
            else:
                computing.add(ready)
    assert state.clock == [steps] * workers
    report = state.report()
    assert sorted(report.workers) == sorted(list(range(workers)) * steps)
    assert report.steps == state.weights[0] == (steps if bound == 0 else workers * steps)
    assert not bound or furthest > 0


def test_staleness_counts_the_steps_in_between():
    state = ServerState(
        np.zeros(2), 2, Service(SGD(1.0), math.inf, damp=lambda stale: 1 / (1 + stale))
    )
    for worker in (0, 1, 0):
        state.push(worker, 0, np.ones(2))
    assert state.report().staleness == (0, 1, 2)
    assert state.weights == pytest.approx(-(1 + 1 / 2 + 1 / 3))


def slow(comm, worker, clock):
    """Worker 2 is late, now and then or always."""
    comm.work(seconds=5.0 if worker == 2 else 1.0)
    return True


def test_backup_workers_are_not_waited_for():
    tells = {"distribution": Server(), "network": Uniform(1e-6, 1e9), "before": slow}
    patient = simulate(follow, 5, service=Service(SGD(0.1)), **tells)
    hasty = simulate(follow, 5, service=Service(SGD(0.1), backups=1), **tells)
    assert patient.time > 20 > 7 > hasty.time
    assert hasty.results[0].steps == STEPS
    assert hasty.results[0].dropped == 1  # it comes at last, and goes on with the others
    assert 2 not in hasty.results[0].workers


def dies(comm, worker, clock):
    """Worker 1 falls silent at clock 2."""
    return (worker, clock) != (1, 2)


def check_survival(run, servers):
    for report in run.results[:servers]:
        assert report.steps == STEPS
        assert [text for text in report.events if "worker 1 has sent nothing" in text]


def test_a_server_survives_a_worker_that_dies_and_says_so(real):
    telling = {"service": Service(SGD(0.1)), "before": dies}
    for servers in (1, 2):
        run = simulate(follow, servers + 3, distribution=Sharded(servers, patience=0.3), **telling)
        check_survival(run, servers)
        # From clock 2 on the mean is that of the two others.
        assert np.array_equal(run.results[servers], run.results[-1])
        everybody = simulate(follow, 4, distribution=Server(), service=Service(SGD(0.1))).results[
            1
        ]
        assert np.abs(run.results[-1] - everybody).max() > 1e-3
    check_survival(real(follow, 4, distribution=Server(patience=1.5), **telling), 1)


def comes_late(comm, distribution, service):
    """Worker 2 comes when the others have begun; nobody needs to know how long that takes."""
    if comm.rank == comm.size - 1:
        comm.recv(np.empty(1), 1, tag=9)
    return follow(comm, distribution, service, before=wakes_the_last)


def wakes_the_last(comm, worker, clock):
    if (worker, clock) == (0, 2):
        comm.send(np.zeros(1), comm.size - 1, tag=9)
        comm.recv(np.empty(1), comm.size - 1, tag=9)
    if (worker, clock) == (2, 2):
        comm.send(np.zeros(1), 1, tag=9)
    return True


@pytest.mark.parametrize("bound", [0, 2])
def test_workers_may_join_late(bound, real):
    distribution = Server(late=(2,))
    given = {"distribution": distribution, "service": Service(SGD(0.1), bound)}
    for run in (simulate(comes_late, 4, **given), real(comes_late, 4, **given)):
        report = run.results[0]
        assert "worker 2 has come" in report.events[0]
        # It begins with the slowest, who may not have begun either if others may be ahead.
        assert report.workers.count(0) == STEPS >= report.workers.count(2) >= STEPS - 2
        if bound == 0:
            assert report.workers.count(2) < STEPS
            assert all(np.array_equal(x, run.results[1]) for x in run.results[2:])


def test_who_counts_as_dead_may_come_back():
    def late_once(comm, worker, clock):
        comm.work(seconds=2.0 if (worker, clock) == (1, 1) else 0.1)
        return True

    tells = {
        "distribution": Server(patience=0.5),
        "service": Service(SGD(0.1)),
        "before": late_once,
    }
    run = simulate(follow, 4, steps=30, **tells)
    told = " ".join(run.results[0].events)
    assert "worker 1 has sent nothing" in told
    assert "worker 1 is back" in told
    assert all(np.array_equal(x, run.results[1]) for x in run.results[2:])


@pytest.mark.parametrize(
    ("servers", "ranks", "instead"),
    [
        (2, 2, r"Server\(\)"),
        (4, 3, r"Sharded\(2\)"),
        (4, 4, r"Sharded\(3\)"),
        (5, 5, r"Sharded\(4\)"),
        (9, 8, r"Sharded\(7\)"),
    ],
)
def test_servers_that_leave_no_worker_are_refused(servers, ranks, instead, real):
    wanted = (
        rf"Sharded\({servers}\) on {ranks} ranks: {servers} servers leave no worker. Take "
        rf"{instead}, or begin at least {servers + 1} ranks"
    )
    for run in (simulate, real) if ranks < 4 else (simulate,):
        with pytest.raises(RankFailed, match=wanted):
            run(follow, ranks, distribution=Sharded(servers), service=Service(SGD(0.1)))


def test_each_server_is_one_of_its_own_even_where_all_it_holds_is_alike():
    loops = [ServerLoop(None, 1, None, 0, Dense(), None, 5) for _ in range(2)]
    assert len(set(loops)) == 2


def test_one_rank_alone_is_server_and_worker():
    run = simulate(follow, 1, distribution=Sharded(4), service=Service(SGD(0.1)))
    assert np.array_equal(run.results[0], twin(1, SGD(0.1)))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="servers must be at least 1"):
        Sharded(0)
    with pytest.raises(ValueError, match="group must be at least 1"):
        Hierarchical(0)
    with pytest.raises(ValueError, match="patience in seconds must be above zero"):
        Server(patience=0)
    with pytest.raises(TypeError, match="late is a tuple"):
        Server(late=2)
    with pytest.raises(RankFailed, match="worker 7 does not exist; 3 ranks with 1"):
        simulate(follow, 3, distribution=Server(late=(7,)), service=Service())
    layered = type("Layered", (), {"elementwise": False})()
    stale = StaleSynchronous(2)
    assert "whole layers" in Sharded(2).objection(stale, Dense(), layered)
    assert Server().objection(stale, Dense(), layered) is None
    assert Sharded(2).objection(Synchronous(), Dense(), layered) is None
