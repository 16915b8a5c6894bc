"""Windows: memory that others write into, on real and on simulated ranks."""

import os

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_runtime.topologies.shared_links import Star
from ddl_teach import simulate

RANKS = (1, 2, 3, 4, 5, 8)


def reach(comm):
    """Everybody writes to, adds to and reads from everybody."""
    found = {}
    for dtype in (np.float32, np.float64, np.int64):
        window = comm.window(3 * comm.size + 2, dtype)
        mine = np.full(2, comm.rank + 1, dtype)
        for rank in range(comm.size):
            for _ in range(5):
                window.add(mine, rank, 1)
            window.put(mine[:1], rank, comm.size + 3 + comm.rank)
        tickets = [window.fetch_and_add(1, 0) for _ in range(3)]
        comm.barrier()
        there = np.empty(3 * comm.size + 2, dtype)
        window.get(there, (comm.rank + 1) % comm.size)
        found[np.dtype(dtype).name] = there, tickets
        comm.barrier()
    return found


@pytest.mark.parametrize("ranks", RANKS)
def test_what_is_written_is_there(ranks, real):
    runs = real(reach, ranks), simulate(reach, ranks)
    for run in runs:
        for name in ("float32", "float64", "int64"):
            tickets = []
            for found in run.results:
                there, drawn = found[name]
                tickets += drawn
                # Beside what fetch_and_add leaves in rank 0's first element.
                assert there[1:3].tolist() == [5 * sum(range(1, ranks + 1))] * 2
                wanted = np.zeros(3 * ranks + 2)
                wanted[ranks + 3 : 2 * ranks + 3] = np.arange(1, ranks + 1)
                assert there[3:].tolist() == wanted[3:].tolist()
            assert sorted(tickets) == list(range(3 * ranks))
    for one, other in zip(*(run.ledger for run in runs), strict=True):
        assert one.bytes_sent == other.bytes_sent
        assert one.by_kind() == other.by_kind()


def test_what_it_costs_in_virtual_time():
    latency, per_byte, nbytes = 1e-3, 1e-9, 8_000_000

    def program(comm):
        window, x = comm.window(nbytes // 8), np.zeros(nbytes // 8)
        comm.work(seconds=1.0 - comm.now())
        if comm.rank == 0:
            times = [comm.now()]
            for call in (window.put, window.add, window.get):
                call(x, 1)
                times.append(comm.now())
            return np.diff(times)
        return window.own.sum()

    run = simulate(program, 2, network=Uniform(latency, 1 / per_byte))
    assert run.results[0] == pytest.approx([2 * latency + nbytes * per_byte] * 3)
    assert [m.kind for m in run.ledger[0].messages if m.kind != "window"] == ["put", "add"]
    assert [m.kind for m in run.ledger[1].messages if m.kind != "window"] == ["get"]
    shared = simulate(
        program, 2, network=Star(ports=2, bandwidth=1 / per_byte, base_latency=latency)
    )
    assert shared.results[0] == pytest.approx([2 * latency + nbytes * per_byte] * 3)


def test_who_reads_sees_what_was_written_before_in_virtual_time():
    """However ranks are simulated, one after the other or not."""

    def program(comm, writer):
        window, seen = comm.window(1), np.empty(1)
        comm.work(seconds=1.0 - comm.now())
        if comm.rank == writer:
            comm.work(seconds=0.5)
            window.put(np.ones(1), 1)
            return None
        found = []
        for _ in range(4):
            window.get(seen, 1)
            found.append(seen[0])
            comm.work(seconds=0.2)
        return found

    for writer in (0, 2):
        run = simulate(program, 3, network=Uniform(1e-6, 1e9), writer=writer)
        others = [found for found in run.results if found is not None]
        assert others == [[0, 0, 0, 1]] * 2


@pytest.mark.real
@pytest.mark.parametrize("verb", ["window", "shared_memory"])
def test_memory_that_no_machine_has_is_refused_by_all_ranks_together(real, verb):
    def program(comm):
        getattr(comm, verb)(1 << 44)

    before = real(lambda comm: os.getpid(), 3).results
    with pytest.raises(RankFailed, match=rf"MemoryError: {verb}: this rank asks for [\d,]+ bytes"):
        real(program, 3)
    assert real(lambda comm: os.getpid(), 3).results == before


def test_what_cannot_be_reached_is_named():
    wrong = [
        (lambda window: window.get(np.empty(3), 1), "rank 1 shows 2"),
        (lambda window: window.put(np.empty(1), 2), "rank 2 does not exist"),
        (lambda window: window.add(np.empty(1, np.float32), 1), "this window holds float64"),
        (lambda window: window.add(np.empty((1, 1)), 1), "must be flat"),
    ]
    for call, words in wrong:
        with pytest.raises(RankFailed, match=words):
            simulate(lambda comm, call=call: call(comm.window(2)), 2)
    with pytest.raises(RankFailed, match="a size must be at least 0, not -1"):
        simulate(lambda comm: comm.window(-1), 1)
    with pytest.raises(RankFailed, match="float32, float64, int64"):
        simulate(lambda comm: comm.window(2, np.float16), 1)
