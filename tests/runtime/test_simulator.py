"""The simulator as a machine: two levels, chance, the same bits again, many ranks."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_teach import ANY, Phantom, simulate
from ddl_teach.collectives import leaders, recursive_doubling, ring, tree

pytestmark = pytest.mark.slow

# -- two levels -----------------------------------------------------------------------------

INSIDE, BETWEEN = Uniform(1.0, 1 / 2), Uniform(10.0, 1 / 3)


@pytest.mark.parametrize(("ranks", "per_node"), [(8, 3), (5, 4), (4, 2), (3, 5), (2, 1)])
def test_each_pair_of_ranks_pays_for_its_own_level(ranks, per_node):
    def program(comm):
        times = []
        for distance in range(comm.size):
            to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
            comm.work(seconds=1000 * (distance + 1) - comm.now())
            sending = comm.isend(Phantom(4), to)
            comm.recv(Phantom(4), source)
            times.append(comm.now() - 1000 * (distance + 1))
            sending.wait()
        return comm.node, times

    results = simulate(program, ranks, network=TwoLevel(per_node, INSIDE, BETWEEN)).results
    assert [node for node, _ in results] == [rank // per_node for rank in range(ranks)]
    for rank, (node, times) in enumerate(results):
        for distance, seconds in enumerate(times):
            inside = (rank - distance) % ranks // per_node == node
            assert seconds == (1 + 4 * 2 if inside else 10 + 4 * 3)


# -- chance ---------------------------------------------------------------------------------


def works_and_sends(comm, rounds=20):
    for _ in range(rounds):
        comm.work(seconds=1.0)
        comm.sendrecv(
            Phantom(10), (comm.rank + 1) % comm.size, Phantom(10), (comm.rank - 1) % comm.size
        )
    return comm.now()


def test_stragglers_are_slower_by_their_factor():
    def program(comm):
        comm.work(seconds=2.0, flops=1e10)
        return comm.now()

    machine = Machine(flops=1e10, stragglers={1: 4.0, 3: 0.5})
    assert simulate(program, 5, machine=machine).results == [3.0, 12.0, 3.0, 1.5, 3.0]


@pytest.mark.parametrize("chance", [{"jitter": 0.3}, {"latency_jitter": 0.5}], ids=str)
def test_the_same_seed_gives_the_same_run_and_another_seed_another(chance):
    network = Uniform(0.1, 1e3)
    runs = [
        simulate(works_and_sends, 4, network=network, machine=Machine(seed=seed, **chance))
        for seed in (1, 1, 2)
    ]
    assert runs[0].results == runs[1].results
    assert runs[0].timeline.spans == runs[1].timeline.spans
    assert runs[0].time != runs[2].time
    assert simulate(works_and_sends, 4, network=network).time < max(run.time for run in runs)


def test_jitter_spreads_work_log_normally_around_its_median():
    def program(comm):
        for _ in range(500):
            comm.work(seconds=2.0)

    run = simulate(program, 4, machine=Machine(jitter=0.2))
    logs = np.log([[s.end - s.start for s in spans] for spans in run.timeline.spans])
    assert np.exp(np.median(logs)) == pytest.approx(2.0, rel=0.05)
    assert logs.std() == pytest.approx(0.2, rel=0.1)
    assert len({tuple(row) for row in logs}) == 4, "every rank has dice of its own"


def test_latency_jitter_only_delays_and_by_its_share_on_average():
    def program(comm):
        delays = []
        for number in range(1000):
            begun = float(number * 100)
            comm.work(seconds=begun - comm.now())
            if comm.rank == 0:
                comm.send(Phantom(0), 1)
            else:
                comm.recv(Phantom(0), 0)
                delays.append(comm.now() - begun - 1.0)
        return delays

    delays = simulate(
        program, 2, network=Uniform(1.0, 1.0), machine=Machine(latency_jitter=0.5)
    ).results[1]
    assert min(delays) >= -1e-9
    assert np.mean(delays) == pytest.approx(0.5, rel=0.15)


# -- the same bits --------------------------------------------------------------------------


def everything(comm):
    """All verbs, chance included; what is found out depends on who came first."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x, seen = np.arange(50.0) + comm.rank, []

    def beside(other):
        for _ in range(3):
            other.work(seconds=1e-6)
            ring.allreduce(other, np.ones(100))

    request = comm.background(beside)
    for _ in range(3):
        comm.work(seconds=1e-6 * (comm.rank % 3))
        requests = [comm.irecv(np.zeros(50), source) for source in (left, right)]
        sending = [comm.isend(x, to) for to in (left, right)]
        seen += [comm.wait_any(requests + sending) for _ in range(4)]
    half = comm.split(comm.rank % 2)
    tree.allreduce(half, x)
    if comm.rank == 0:
        seen += [comm.recv(np.zeros(50), ANY, tag=2) for _ in range(comm.size - 1)]
    else:
        comm.send(x, 0, tag=2)
    request.wait()
    comm.barrier()
    return seen, comm.now(), x.sum()


def fingerprint():
    """Everything that runs on three networks leave behind, to the bit."""
    machine = Machine(jitter=0.2, latency_jitter=0.2, stragglers={1: 2.0}, seed=7)
    parts = []
    for network in (Uniform(), TwoLevel(3), FatTree(4)):
        run = simulate(everything, 8, network=network, machine=machine)
        ledgers = [ledger.messages for ledger in run.ledger]
        parts.append((run.results, run.time, ledgers, run.timeline.spans))
    return repr(parts)


def test_a_run_is_the_same_to_the_bit_in_any_process():
    here = fingerprint()
    assert fingerprint() == here
    for hash_seed in ("1", "23"):
        code = "import test_simulator as t, hashlib as h; print(h.sha256(t.fingerprint()"
        paths = {"PYTHONPATH": f"{Path(__file__).parent}:{':'.join(filter(None, sys.path))}"}
        there = subprocess.run(
            [sys.executable, "-c", code + ".encode()).hexdigest())"],
            env={**paths, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert there.stdout.strip() == hashlib.sha256(here.encode()).hexdigest()


@pytest.mark.parametrize("network", [Uniform(), TwoLevel(3), FatTree(4)], ids=repr)
def test_time_never_runs_backwards(network):
    def program(comm):
        times = [comm.now()]
        for step in (lambda: comm.work(1e-6), comm.barrier, lambda: comm.split(0).barrier(),
                     lambda: ring.allreduce(comm, np.ones(10)),
                     lambda: comm.background(ring.allreduce, np.ones(9)).wait()):  # fmt: skip
            for _ in range(3):
                step()
                times.append(comm.now())
        assert times == sorted(times)
        return times[-1]

    run = simulate(program, 8, network=network)
    assert run.time == max(run.results)
    for spans in run.timeline.spans:
        assert all(0 <= span.start <= span.end <= run.time for span in spans)
        assert [s.end for s in spans] == sorted(s.end for s in spans)


# -- as many ranks as there are -------------------------------------------------------------

LARGE = """
import resource
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import recursive_doubling
from ddl_runtime.topologies.point_to_point import Uniform
def program(comm):
    recursive_doubling.allreduce(comm, Phantom(100_000_000))
run = simulate(program, 65_536, network=Uniform(1e-6, 1e10), trace=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(run.time, peak * (1 if __import__("sys").platform == "darwin" else 1024))
"""


@pytest.mark.long
def test_65536_ranks_exchange_100_megabytes_each_in_little_memory():
    done = subprocess.run(
        [sys.executable, "-c", LARGE], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )  # fmt: skip
    seconds, peak = map(float, done.stdout.split())
    assert seconds == pytest.approx(16 * (1e-6 + 1e8 / 1e10), rel=1e-12)
    assert peak < 4 * 2**30


@pytest.mark.parametrize("algorithm", [recursive_doubling, tree, leaders])
@pytest.mark.sampled(3)
def test_real_data_on_a_thousand_ranks(algorithm):
    def program(comm):
        x = np.full(64, comm.rank)
        algorithm.allreduce(comm, x)
        return x[0], x[-1]

    total = 1000 * 999 // 2
    run = simulate(program, 1000, network=TwoLevel(7), trace=False)
    assert run.results == [(total, total)] * 1000
