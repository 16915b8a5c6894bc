"""Updates through shared memory: the weights, staleness and bytes that messages give."""

import math

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_teach import simulate
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.half import Half
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.distribution.server import Server, Sharded
from ddl_teach.training.distribution.through_memory import BLOCK, SharedMemoryServer
from ddl_teach.training.optimizers.lars import LARS
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.sgd import SGD

LONG, STEPS = BLOCK // 8 * 2 + 5, 3  # three blocks of float64
PATHS = {"server": (Server(), SharedMemoryServer()), "shards": (Sharded(2), SharedMemoryServer(2))}
SERVICES = {
    "at once": Service(SGD(0.5), math.inf),
    "at once, with states": Service(Momentum(0.5, 0.5), math.inf),
    "at once, damped": Service(SGD(0.5), math.inf, damp=lambda stale: 0.5),
    "the mean": Service(SGD(0.5)),
}


def pushed(comm, distribution, service, size=LONG, update=None, trainings=2):
    """A worker's last weights, or the server's report; and what was sent to servers."""
    for _ in range(trainings):
        weights = np.zeros(size)
        handle = distribution.open(comm, weights, Dense(), service)
        if handle.worker is None:
            result = handle.serve()
        else:
            for step in range(STEPS):
                given = np.arange(size) % 8.0 + step if update is None else update
                handle.push(given)
                if service.bound == 0:
                    handle.pull(weights)
            handle.pull(weights)
            handle.leave()
            result = weights
        comm.barrier()
    return result, [m.bytes for m in comm.ledger.messages if m.kind in ("host", "put")]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("path", "ranks"),
    [("server", 2), ("server", 3), ("server", 4), ("server", 5), ("server", 8),
     ("shards", 3), ("shards", 4), ("shards", 5), ("shards", 8)],
)  # fmt: skip
@pytest.mark.sampled(4)
def test_what_comes_through_memory_is_what_comes_by_message(path, ranks, service, real):
    last = [
        real(pushed, ranks, distribution=distribution, service=SERVICES[service]).results
        for distribution in PATHS[path]
    ]
    for (by_message, bytes_sent), (by_memory, bytes_put) in zip(*last, strict=True):
        assert sorted(bytes_sent) == sorted(bytes_put)
        if isinstance(by_message, np.ndarray):
            # Workers that do not wait see different moments, but for a single one.
            if ranks == 2 + (path == "shards") or service == "the mean":
                assert np.array_equal(by_message, by_memory)
        else:
            assert by_message.steps == by_memory.steps > 0
            assert sorted(by_message.workers) == sorted(by_memory.workers)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_simulated_ranks_send_the_same_messages(ranks):
    given = {"service": SERVICES["at once"], "size": 11}
    runs = [
        simulate(pushed, ranks, distribution=distribution, **given)
        for distribution in PATHS["server"]
    ]
    assert runs[0].ledger == runs[1].ledger
    assert runs[0].time == runs[1].time


def sum_of_updates(comm):
    """What the server holds when all have pushed whole numbers: exact in any order."""
    weights = np.zeros(LONG)
    handle = SharedMemoryServer().open(comm, weights, Dense(), SERVICES["at once"])
    if handle.worker is None:
        handle.serve()
        return handle.state.weights
    for _ in range(STEPS):
        handle.push(np.arange(LONG) + 2.0**handle.worker)
    handle.leave()
    return None


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_no_update_is_lost_or_counted_twice(ranks, real):
    workers = ranks - 1
    expected = -0.5 * STEPS * (workers * np.arange(LONG) + 2.0**workers - 1)
    assert np.array_equal(real(sum_of_updates, ranks).results[0], expected)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_short_and_empty_updates_come_too(size, real):
    given = {"distribution": SharedMemoryServer(2), "service": SERVICES["the mean"]}
    run = real(pushed, 4, size=size, **given)
    expected = -0.5 * sum(np.arange(size) % 8.0 + step for step in range(STEPS))
    assert np.array_equal(run.results[2][0], expected)


def test_a_rule_that_looks_at_whole_layers_gets_them(real):
    service = Service(LARS(layers=(0, LONG)), math.inf)
    results = [
        real(pushed, 2, distribution=distribution, service=service).results[1][0]
        for distribution in PATHS["server"]
    ]
    assert np.array_equal(*results)


def test_an_update_that_diverged_is_refused_with_its_entry(real):
    bad = np.zeros(LONG)
    bad[-2] = np.nan
    given = {"distribution": SharedMemoryServer(), "service": SERVICES["at once"]}
    with pytest.raises(RankFailed, match=f"entry {LONG - 2} of the vector is nan"):
        real(pushed, 2, update=bad, **given)


def diverged_once(comm):
    """The weights after a training whose second update is refused, and after another one."""
    kept = []
    for _ in range(2):
        weights = np.zeros(LONG)
        handle = SharedMemoryServer().open(comm, weights, Dense(), SERVICES["at once"])
        if handle.worker is None:
            handle.serve()
        else:
            bad = np.full(LONG, 1.0)
            bad[-2] = np.nan
            handle.push(np.full(LONG, 2.0))
            with pytest.raises(ValueError, match="diverged"):
                handle.push(bad)
            handle.push(np.full(LONG, 4.0))
            handle.pull(weights)
            handle.leave()
            kept.append(weights)
    return kept


def test_the_server_goes_on_after_an_update_that_diverged(real):
    for weights in real(diverged_once, 2).results[1]:
        assert (weights[: BLOCK // 8] == -3.5).all()  # these blocks came before the refused one
        assert (weights[2 * (BLOCK // 8) :] == -3.0).all()


def test_what_cannot_lie_in_memory_is_refused():
    stale = StaleSynchronous(2)
    assert "take Dense()" in SharedMemoryServer().objection(stale, Half(), SGD())
    assert "late ones come later" in SharedMemoryServer(late=(1,)).objection(stale, Dense(), SGD())
    assert SharedMemoryServer().objection(stale, Dense(), SGD()) is None
