"""Rank programs on engines of ipyparallel, as on a cluster's."""

import numpy as np
import pytest

from ddl_class.clusters.engines import ClientRanks
from ddl_runtime.diagnosis.deadlock import RankFailed, TimedOut
from ddl_teach.collectives import ring

pytestmark = pytest.mark.real


def program(comm, size):
    x = np.full(size, comm.rank + 1.0)
    ring.allreduce(comm, x)
    return comm.rank, x[0]


def fails_on_one(comm):
    if comm.rank == 1:
        raise ValueError("on purpose")
    if comm.rank == 0:
        comm.recv(np.empty(1), 1)


def waits(comm):
    comm.recv(np.empty(1), (comm.rank + 1) % comm.size)


def sends_first(comm):
    x = np.zeros(1)
    comm.send(x, (comm.rank + 1) % comm.size)
    comm.recv(x, (comm.rank - 1) % comm.size)


def test_its_ranks_are_strict_unless_time_is_measured(client):
    with pytest.raises(TimedOut, match="It waited in send"):
        ClientRanks(client).run(sends_first, timeout=1)
    ClientRanks(client).run(sends_first, strict=False)


def test_programs_run_fail_and_run_again(client):
    ranks = ClientRanks(client)
    for count in (4, 3, 1):
        run = ranks.run(program, count, size=count * 6)
        total = sum(range(count + 1))
        assert run.results == [(rank, total) for rank in range(count)]
        assert [one.bytes_sent for one in run.ledger] == [2 * (count - 1) * 6 * 8] * count
    with pytest.raises(RankFailed, match="rank 1 raised ValueError: on purpose"):
        ranks.run(fails_on_one, 2, timeout=1)
    with pytest.raises(TimedOut, match="It waited in recv"):
        ranks.run(waits, timeout=1)
    assert ranks.run(program, size=8).results[0] == (0, 10)
    with pytest.raises(ValueError, match="there are 4 engines"):
        ranks.run(program, 5)


def of_other_length(comm):
    other = 1 - comm.rank
    comm.sendrecv(np.zeros(2), other, np.empty(3), other)


def test_what_did_not_fit_arrives_as_data(client):
    with pytest.raises(RankFailed) as caught:
        ClientRanks(client).run(of_other_length, 2, timeout=10)
    assert caught.value.exception == "MessageMismatch"
    assert (caught.value.mismatch.sent, caught.value.mismatch.wanted) == (
        (16, "float64"), (24, "float64"),
    )  # fmt: skip
