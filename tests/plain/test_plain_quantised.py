"""Both quantised means are those of their products, and their errors and bytes those of theory."""

import numpy as np
import pytest
from comparing import assert_close

from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.plain import quantised_allreduce
from ddl_teach.theory import quantised
from ddl_teach.training.compression.averaging import averager
from ddl_teach.training.compression.blocks import Blocks
from ddl_teach.training.distribution.requantised_ring import RequantisedRing

WAYS = ("ring", "all_to_all")
SIZE = 960  # which all numbers of ranks here divide, so that both cut alike


def numbers(rank, size=SIZE):
    x = np.random.default_rng(rank).standard_normal(size)
    x[:70] = 0  # a whole block of zeros, and a part of one
    return x


def plainly(comm, way):
    x = numbers(comm.rank)
    getattr(quantised_allreduce, way)(comm, x)
    return x


def by_the_product(comm, way):
    x = numbers(comm.rank)
    if way == "ring":
        RequantisedRing().open(comm, x, Blocks(), None).average(x)
    else:
        averager(comm, Blocks(), SIZE, ring.allreduce)(x)
    return x


@pytest.mark.parametrize("way", WAYS)
def test_it_averages_as_its_product_and_to_the_same_bits_on_all_ranks(run, ranks, way):
    outcome = run(plainly, way=way)
    product = simulate(by_the_product, ranks, way=way)
    for plain, expected in zip(outcome.results, product.results, strict=True):
        assert_close(plain, expected)
    assert len({x.tobytes() for x in outcome.results}) == 1
    assert len({x.tobytes() for x in product.results}) == 1
    mean = np.mean([numbers(rank) for rank in range(ranks)], axis=0)
    error = outcome.results[0] - mean
    assert 0 < np.abs(error).max() < 0.05
    assert not error[:64].any()  # zeros stay zeros


@pytest.mark.parametrize("way", WAYS)
def test_bytes_are_those_of_theory(run, ranks, way):
    message = Blocks().nbytes(SIZE // ranks) * ranks
    for ledger in run(plainly, way=way).ledger:
        assert ledger.bytes_sent == quantised.sent_bytes("ring", ranks, message)


def error_of(comm, way, size=8192):
    x = np.random.default_rng(comm.rank).standard_normal(size)
    mean = x.copy()
    ring.allreduce(comm, mean)
    mean /= comm.size
    getattr(quantised_allreduce, way)(comm, x)
    return np.sqrt(np.mean((x - mean) ** 2) / np.mean(mean**2))


@pytest.mark.parametrize("ranks", [2, 3, 8, 32])
@pytest.mark.parametrize("way", WAYS)
def test_errors_of_independent_numbers_are_those_of_theory(ranks, way):
    error = simulate(error_of, ranks, way=way, trace=False).results[0]
    assert error == pytest.approx(quantised.relative_error(way.replace("_", "-"), ranks), rel=0.06)


def test_the_largest_of_a_block_is_what_many_draws_say():
    draws = np.random.default_rng(0).standard_normal((20_000, 64))
    most = np.mean(np.abs(draws).max(axis=1) ** 2)
    assert quantised.largest_squared(64) == pytest.approx(most, rel=0.02)


@pytest.mark.parametrize("levels", [7, 127])
def test_fewer_levels_and_larger_blocks_lose_more(levels):
    coarse = quantised.relative_error("gathered", 8, levels, 1024)
    assert coarse > quantised.relative_error("gathered", 8, levels, 64)
    assert quantised.sent_bytes("gathered", 8, 100) == 700


def test_a_ring_without_fixed_messages_or_with_messages_that_add_up_is_refused():
    from ddl_teach.training.compression.half import Half
    from ddl_teach.training.compression.top_k import TopK
    from ddl_teach.training.consistency.synchronous import Synchronous
    from ddl_teach.training.refusals import refusal

    for compressor, words in ((Half(), "add up as they are"), (TopK(0.1), "lengths vary")):
        assert words in refusal(Synchronous(), RequantisedRing(), compressor)
    assert refusal(Synchronous(), RequantisedRing(), Blocks()) is None
