"""Volumes are the ledgers', to the byte, on both grounds."""

import numpy as np
import pytest

from ddl_measure.traffic import between_nodes, traffic
from ddl_runtime.records.ledger import Ledger
from ddl_teach import simulate
from ddl_teach.collectives import ring


def summed(comm, size):
    ring.allreduce(comm, np.ones(size))
    comm.barrier()


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_a_ring_sends_what_its_formula_says_to_its_right(real, ranks):
    size = 8 * 3 * 5 * 7
    runs = [simulate(summed, ranks, size=size), real(summed, ranks, size=size)]
    own = 2 * (ranks - 1) * size // ranks * 8
    for run in runs:
        found = traffic(run.ledger)
        assert found.sent.tolist() == found.received.tolist() == [own] * ranks
        assert found.messages.tolist() == [len(ledger.messages) for ledger in run.ledger]
        assert sum(number for number, _ in found.kinds.values()) == found.messages.sum()
        assert sum(total for _, total in found.kinds.values()) == own * ranks


def test_a_server_is_the_busiest_and_native_calls_have_no_bytes():
    ledgers = [Ledger([(0, 0, 100, "host")]) for _ in range(3)]
    ledgers[0] = Ledger([(1, 0, 999, "native")])
    found = traffic(ledgers)
    assert found.sent.tolist() == [0, 100, 100]
    assert found.received.tolist() == [200, 0, 0]
    assert found.kinds == {"native": (1, 0), "host": (2, 200)}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_what_goes_from_node_to_node_is_told_by_node(ranks):
    run = simulate(summed, ranks, size=840)
    own = list(range(ranks))
    assert between_nodes(run.ledger, own) == traffic(run.ledger).sent.tolist()
    assert between_nodes(run.ledger, [7] * ranks) == [0]
    two_by_two = [10 - rank // 2 for rank in own]
    crossed = sum(
        nbytes
        for rank, ledger in enumerate(run.ledger)
        for peer, _, nbytes, _ in ledger.messages
        if peer // 2 != rank // 2
    )
    assert sum(between_nodes(run.ledger, two_by_two)) == crossed
