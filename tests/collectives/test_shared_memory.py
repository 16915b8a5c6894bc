"""The all-reduce of ranks that share memory, staged through a window and in place."""

from unittest import mock

import numpy as np
import pytest
import vectors

from ddl_runtime.simulator.communicator import SimulatedComm
from ddl_runtime.topologies.point_to_point import TwoLevel, Uniform
from ddl_teach import simulate
from ddl_teach.collectives import shared_memory

LENGTHS = (0, 1, 3, 1000, shared_memory.ALL_ADD_ALL // 8, shared_memory.ALL_ADD_ALL // 8 + 5,
           shared_memory.BLOCK // 8 * 2 + 3)  # fmt: skip


@pytest.fixture
def node(ground):
    """A ground whose ranks are all on one node."""
    if ground.name == "real":
        return ground.run
    return lambda program, ranks, **kwargs: simulate(
        program, ranks, network=TwoLevel(ranks_per_node=ranks), **kwargs
    )


def staged(comm):
    wrong, results = [], []
    for length in LENGTHS:
        x = np.random.default_rng([comm.rank, length]).integers(-9, 9, length)
        inputs = [np.random.default_rng([r, length]).integers(-9, 9, length)
                  for r in range(comm.size)]  # fmt: skip
        shared_memory.allreduce(comm, x, "max")
        results.append(x)
        if not vectors.same(x, np.max(inputs, axis=0)):
            wrong.append(length)
    return wrong, vectors.bits(*results)


def kinds(comm):
    wrong = []
    for kind in vectors.KINDS:
        expected = vectors.everybodys_combined(kind, 23, comm.size, "sum")
        if expected is not None:
            x = vectors.vector(kind, 23, comm.rank)
            shared_memory.allreduce(comm, x)
            if not vectors.same(x, expected):
                wrong.append(kind)
    return wrong


def fractions(comm):
    x = np.random.default_rng(comm.rank).standard_normal(300_001)
    for _ in range(3):
        shared_memory.allreduce(comm, x)
    return vectors.bits(x)


def in_place(comm):
    wrong = []
    for length in (1, 3, 1000, 100_003):
        memory = comm.shared_memory(8 * length)
        everybodys = memory.arrays(np.dtype(float), length)
        everybodys[comm.rank][:] = np.arange(length) + comm.rank
        shared_memory.allreduce_in_place(comm, memory, everybodys)
        total = np.arange(length) * comm.size + comm.size * (comm.size - 1) / 2
        if not vectors.same(everybodys[comm.rank], total):
            wrong.append(length)
    return wrong, comm.ledger.bytes_sent


def once(comm):
    wrong = []
    for length in (1, 3, 1000, 100_003):
        memory = comm.shared_memory(8 * length)
        everybodys = memory.arrays(np.dtype(float), length)
        for factor in (1, 2):
            everybodys[comm.rank][:] = factor * (np.arange(length) + comm.rank)
            result = shared_memory.allreduce_once(comm, memory, everybodys)
            total = factor * (np.arange(length) * comm.size + comm.size * (comm.size - 1) / 2)
            if not vectors.same(result, total):
                wrong.append((length, factor))
            memory.fence()  # rank 0's next numbers go where the others have just read
    return wrong, comm.ledger.bytes_sent


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(3)
def test_it_is_the_allreduce(node, ranks):
    wrong, prints = zip(*node(staged, ranks).results, strict=True)
    assert wrong == ([],) * ranks
    assert len(set(prints)) == 1
    assert node(kinds, ranks).results == [[]] * ranks
    assert len(set(node(fractions, ranks).results)) == 1


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_in_place(node, ranks):
    assert node(in_place, ranks).results == [([], 0)] * ranks


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_once_for_all(node, ranks):
    assert node(once, ranks).results == [([], 0)] * ranks


def reduced(comm, nbytes, way):
    if way == "staged":
        shared_memory.allreduce(comm, np.ones(nbytes // 8))
    else:
        memory = comm.shared_memory(nbytes)
        vectors_of_all = memory.arrays(np.dtype(float), nbytes // 8)
        shared_memory.allreduce_in_place(comm, memory, vectors_of_all)


def added_at_once(nbytes, way):
    """The bytes of each sum of two, on both ranks alike."""
    whole = SimulatedComm.combine
    with mock.patch.object(SimulatedComm, "combine", autospec=True, side_effect=whole) as combine:
        simulate(reduced, 2, network=TwoLevel(ranks_per_node=2), nbytes=nbytes, way=way)
    calls = [call.args for call in combine.call_args_list]
    first, other = (
        [vector.nbytes for comm, vector, _ in calls if comm.rank == rank] for rank in (0, 1)
    )
    assert first == other
    return first


@pytest.mark.slow
@pytest.mark.parametrize(("nbytes", "sizes"), [(2**19, [2**18]), (2**20 + 80, [2**18, 2**18, 40])])
def test_in_place_a_tile_of_256_kib_stays_in_a_cache(nbytes, sizes):
    assert added_at_once(nbytes, "in place") == sizes


@pytest.mark.parametrize(
    ("nbytes", "sizes"),
    [
        (2**16, [2**16]),  # each rank adds up all of a short vector
        (2**16 + 16, [2**15 + 8]),  # and its half of a longer one
        (2**19 + 16, [2**18, 16]),  # in blocks of 512 KiB
    ],
)
def test_through_a_window_a_block_of_512_kib_stays_in_a_cache(nbytes, sizes):
    assert added_at_once(nbytes, "staged") == sizes


def test_between_nodes_only_their_first_ranks_send():
    def program(comm):
        x = np.arange(40_000.0) + comm.rank
        shared_memory.allreduce(comm, x, "max")
        assert (x == np.arange(40_000.0) + comm.size - 1).all()
        return sum(message.bytes for message in comm.ledger.messages if message.kind == "host")

    sent = simulate(program, 7, network=TwoLevel(ranks_per_node=3)).results
    assert [bytes_sent > 0 for bytes_sent in sent] == [True, False, False] * 2 + [True]
    with pytest.raises(Exception, match=r"several nodes.*comm\.split\(comm\.node\)"):
        simulate(lambda comm: comm.shared_memory(8), 2, network=Uniform())
