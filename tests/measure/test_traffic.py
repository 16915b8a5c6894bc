"""Volumes are the ledgers', to the byte, on both grounds."""

import numpy as np
import pytest

from ddl_measure.traffic import between_nodes, pairs, traffic
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
        found, table = traffic(run.ledger), pairs(run.ledger)
        assert found.sent.tolist() == found.received.tolist() == [own] * ranks
        assert found.messages.tolist() == [len(ledger.messages) for ledger in run.ledger]
        assert found.imbalance == 1
        assert sum(number for number, _ in found.kinds.values()) == found.messages.sum()
        assert sum(total for _, total in found.kinds.values()) == table.sum() == own * ranks
        right = np.roll(np.eye(ranks), 1, axis=1) * own
        assert np.array_equal(table, right if ranks > 1 else 0 * right)


def test_a_server_is_the_busiest_and_native_calls_have_no_bytes():
    ledgers = [Ledger([(0, 0, 100, "host")]) for _ in range(3)]
    ledgers[0] = Ledger([(1, 0, 999, "native")])
    found = traffic(ledgers)
    assert found.sent.tolist() == [0, 100, 100]
    assert found.received.tolist() == [200, 0, 0]
    assert found.imbalance == 3
    assert found.kinds == {"native": (1, 0), "host": (2, 200)}
    assert pairs(ledgers).tolist() == [[0, 0, 0], [100, 0, 0], [100, 0, 0]]


def test_a_table_of_all_pairs_has_an_end():
    with pytest.raises(ValueError, match="at most 2,048 ranks"):
        pairs([Ledger()] * 2049)
    assert traffic([Ledger()] * 2049).imbalance == 1


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_what_goes_from_node_to_node_is_told_by_node(ranks):
    run = simulate(summed, ranks, size=840)
    sent, own = pairs(run.ledger), list(range(ranks))
    assert between_nodes(run.ledger, own) == sent.sum(axis=1).tolist()
    assert between_nodes(run.ledger, [7] * ranks) == [0]
    two_by_two = [10 - rank // 2 for rank in own]
    crossed = sum(sent[a, b] for a in own for b in own if a // 2 != b // 2)
    assert sum(between_nodes(run.ledger, two_by_two)) == crossed
