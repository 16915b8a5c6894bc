"""How sparse sums fill in: the formulas against drawing, and against simulated ranks."""

import math

import numpy as np
import pytest

from ddl_teach import simulate
from ddl_teach.collectives.sparse import dense_second_phase, recursive_doubling, split_allgather
from ddl_teach.collectives.sparse.stream import Stream
from ddl_teach.theory import sparse
from ddl_teach.theory.machine import Link


def drawn_union(size, entries, ranks, rng):
    hit = np.zeros(size, bool)
    for _ in range(ranks):
        hit[rng.choice(size, entries, replace=False)] = True
    return int(hit.sum())


def union_spread(size, entries, ranks):
    """The standard deviation of that number, from one draw of all ranks to the next.

    Two places stay empty together with the chance ((N-k)(N-k-1) / (N(N-1)))^P, which is a little
    less than the product of both chances: an entry here is one that is not there.
    """
    if size == 1:
        return 0.0
    empty = (1 - entries / size) ** ranks
    both = ((size - entries) * (size - entries - 1) / (size * (size - 1))) ** ranks
    return math.sqrt(max(0.0, size * empty * (1 - empty) + size * (size - 1) * (both - empty**2)))


@pytest.mark.parametrize(
    ("size", "entries", "ranks"),
    [(1000, 10, 1), (1000, 10, 8), (1000, 10, 64), (300, 100, 5), (50, 50, 3), (40, 1, 40)],
)
def test_the_union_has_the_expected_size_and_spread(size, entries, ranks):
    rng = np.random.default_rng(0)
    draws = np.array([drawn_union(size, entries, ranks, rng) for _ in range(400)])
    spread = union_spread(size, entries, ranks)
    far = abs(draws.mean() - sparse.union(size, entries, ranks))
    assert far <= 4 * spread / math.sqrt(len(draws)) + 1e-9
    assert draws.std() == pytest.approx(spread, rel=0.15, abs=1e-4)


def test_unequal_chances_fill_in_more_slowly():
    rng = np.random.default_rng(1)
    chances = 1 / np.arange(1, 501)  # the frequencies of words, according to Zipf
    draws = [(rng.random((16, 500)) < chances).any(axis=0).sum() for _ in range(300)]
    expected = sparse.union_of_chances(chances, 16)
    assert np.mean(draws) == pytest.approx(expected, rel=0.02)
    assert expected < sparse.union(500, chances.sum(), 16)
    equal = np.full(500, 0.02)
    assert sparse.union_of_chances(equal, 16) == pytest.approx(sparse.union(500, 10, 16))


def test_the_limits():
    assert sparse.union(1000, 3, 1) == pytest.approx(3)
    assert sparse.union(1000, 0, 9) == 0
    assert sparse.union(1000, 1000, 9) == 1000
    assert union_spread(1, 1, 5) == 0


def program(comm, size, entries, way):
    rng = np.random.default_rng([7, comm.rank])
    x = np.zeros(size, np.float32)
    x[rng.choice(size, entries, replace=False)] = 1
    way.allreduce(comm, Stream.of(x))


@pytest.mark.parametrize("entries", [20, 200, 2000])
def test_simulated_ranks_send_and_take_what_is_expected(entries):
    size, ranks, link = 20_000, 32, Link(1e-6, 1e-8)
    doubling = sparse.recursive_doubling(size, entries, ranks, link)
    split = sparse.split_bytes(size, entries, ranks)
    for way, seconds, nbytes in (
        (recursive_doubling, doubling, sparse.recursive_doubling_bytes(size, entries, ranks)),
        (
            split_allgather,
            sparse.split_allgather(size, entries, ranks, link),
            split + sparse.gather_bytes(size, entries, ranks),
        ),
        (
            dense_second_phase,
            sparse.split_allgather(size, entries, ranks, link, dense_bits=32),
            split + sparse.dense_gather_bytes(size, ranks),
        ),
    ):
        run = simulate(
            program, ranks, network=link.network, trace=False, size=size, entries=entries, way=way
        )
        sent = np.mean([ledger.bytes_sent for ledger in run.ledger])
        assert sent == pytest.approx(nbytes, rel=0.02)
        # The slowest rank counts: of the parts of a split, one has a few entries more.
        assert seconds * 0.98 < run.time < seconds * 1.35


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sparse.union(10, 11, 2), "0 to 10 of them"),
        (lambda: sparse.union(0, 0, 2), "size must be at least 1"),
        (lambda: sparse.union_of_chances(np.array([0.5, 1.5]), 2), "between 0 and 1"),
        (lambda: sparse.recursive_doubling_bytes(10, 1, 6), "power of two"),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: sparse.split_bytes(10, 1, 0),
        lambda: sparse.dense_gather_bytes(10, 0),
        lambda: sparse.union_of_chances(np.array([0.5]), 0),
    ],
    ids=["split", "dense", "chances"],
)
def test_there_is_at_least_one_rank(call):
    with pytest.raises(ValueError, match="ranks must be at least 1, not 0"):
        call()
