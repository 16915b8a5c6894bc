"""What the formulas say is sent is what the ledger says was sent, on both grounds alike."""

import numpy as np
import pytest

from ddl_teach import Phantom, simulate
from ddl_teach.collectives import pat, registry

LENGTH = 8 * 5 * 3 * 7 * 4  # divisible by every number of ranks used here
NBYTES = 8 * LENGTH


def allreduce(comm, algorithm):
    registry.get(algorithm).allreduce(comm, np.full(LENGTH, comm.rank, float))


def bytes_sent(run):
    return [ledger.bytes_sent for ledger in run.ledger]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_a_ring_sends_two_vectors_less_two_chunks(ground, ranks):
    run = ground.run(allreduce, ranks, algorithm="ring")
    assert bytes_sent(run) == [2 * (ranks - 1) * NBYTES // ranks] * ranks
    assert [ledger.messages_sent for ledger in run.ledger] == [2 * (ranks - 1)] * ranks


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_powers_of_two(ground, ranks):
    levels = ranks.bit_length() - 1
    doubling = ground.run(allreduce, ranks, algorithm="recursive_doubling")
    assert bytes_sent(doubling) == [levels * NBYTES] * ranks
    halving = ground.run(allreduce, ranks, algorithm="rabenseifner")
    assert bytes_sent(halving) == [2 * (ranks - 1) * NBYTES // ranks] * ranks


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("algorithm", ["tree", "linear"])
def test_a_tree_sends_each_vector_up_and_down_once(ground, ranks, algorithm):
    sent = bytes_sent(ground.run(allreduce, ranks, algorithm=algorithm))
    assert sum(sent) == 2 * (ranks - 1) * NBYTES
    if algorithm == "linear":
        assert sent[0] == (ranks - 1) * NBYTES  # the root answers everybody


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_a_direct_allreduce_sends_as_much_as_a_ring_or_whole_vectors(ground, ranks):
    two = ground.run(allreduce, ranks, algorithm="direct")
    assert bytes_sent(two) == [2 * (ranks - 1) * NBYTES // ranks] * ranks
    one = ground.run(allreduce, ranks, algorithm="one_shot")
    assert bytes_sent(one) == [(ranks - 1) * NBYTES] * ranks
    assert [ledger.messages_sent for ledger in one.ledger] == [ranks - 1] * ranks


def by_trees(comm, most):
    x = np.full(LENGTH, comm.rank, float)
    pat.reduce_scatter(comm, x, most=most)
    pat.allgather(comm, x, most=most)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize(("most", "messages"), [(1, (0, 1, 2, 3, 4, 7)), (64, (0, 1, 2, 2, 3, 3))])
def test_aggregated_trees_send_two_vectors_less_two_chunks(ground, ranks, most, messages):
    run = ground.run(by_trees, ranks, most=most)
    assert bytes_sent(run) == [2 * (ranks - 1) * NBYTES // ranks] * ranks
    expected = 2 * messages[(1, 2, 3, 4, 5, 8).index(ranks)]
    assert [ledger.messages_sent for ledger in run.ledger] == [expected] * ranks


@pytest.mark.parametrize("nbytes", [5, 24, 40])
@pytest.mark.parametrize("ranks", [3, 8])
def test_trees_of_phantoms_send_what_trees_of_data_send(ranks, nbytes):
    def program(comm, real):
        x = np.zeros(nbytes, np.uint8) if real else Phantom(nbytes)
        pat.reduce_scatter(comm, x)
        pat.allgather(comm, x)

    data, phantom = (simulate(program, ranks, real=real) for real in (True, False))
    assert phantom.ledger == data.ledger
    assert phantom.time == data.time
    assert sum(bytes_sent(phantom)) == 2 * (ranks - 1) * nbytes


@pytest.mark.parametrize("most", [0, 3, -2, 12])
def test_a_message_holds_a_power_of_two_of_chunks(most):
    with pytest.raises(ValueError, match=f"hold {most} chunks: give a power of two"):
        pat.steps(8, most)


@pytest.mark.parametrize("ranks", [2, 3, 8, 13, 64, 100])
@pytest.mark.parametrize("most", [1, 4, 64])
def test_each_chunk_travels_once_and_the_farthest_go_first(ranks, most):
    order = pat.steps(ranks, most)
    arrived = sorted(distance + below for distance, offsets in order for below in offsets)
    assert arrived == list(range(1, ranks))
    assert max(len(offsets) for _, offsets in order) <= most
    assert order[0][0] == max(distance for distance, _ in order) >= ranks / 4


@pytest.mark.parametrize(
    "algorithm",
    sorted(set(registry.names()) - {"native", "leaders", "hierarchical", "shared_memory"}),
)
@pytest.mark.parametrize("ranks", [1, 3, 4, 5, 8])
@pytest.mark.sampled(3)
def test_real_and_simulated_ranks_send_the_same_messages(real, algorithm, ranks):
    runs = (
        simulate(allreduce, ranks, algorithm=algorithm),
        real(allreduce, ranks, algorithm=algorithm),
    )
    ledgers = [[ledger.messages for ledger in run.ledger] for run in runs]
    if algorithm == "double_binary_tree":  # what has arrived first goes on first
        ledgers = [list(map(sorted, each)) for each in ledgers]
    assert ledgers[0] == ledgers[1]


def test_native_is_one_entry_and_no_bytes(real):
    run = real(allreduce, 4, algorithm="native")
    assert [ledger.by_kind() for ledger in run.ledger] == [{"native": 1}] * 4
    assert bytes_sent(run) == [0] * 4
