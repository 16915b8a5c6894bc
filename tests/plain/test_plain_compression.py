"""Each plain compression averages as its product does, and loses what it may lose.

The products send float32, so they are given numbers that float32 holds exactly: then both are
exact, and equal to 1e-12.
"""

from functools import cache

import numpy as np
import pytest
from comparing import assert_close, vector

from ddl_teach import simulate
from ddl_teach.plain import one_bit, qsgd, top_k_error_feedback
from ddl_teach.training.compression.averaging import gathered
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.top_k import TopK

STEPS, LEVELS, SEED = 3, 4, 11


def whole_numbers(rank, step, size):
    """Different from each other in magnitude, so that the largest k are never in doubt."""
    random = np.random.default_rng([rank, step])
    return random.permutation(np.arange(1.0, size + 1)) * random.choice([-1, 1], size)


def for_top_k(rank, step):
    """A power of four more in each step: no two totals can be equal."""
    return whole_numbers(rank, step, 37) * 64.0**step


def for_one_bit(rank, step):
    """Multiples of 60 in each of three means of up to six entries."""
    return np.random.default_rng([rank, step]).integers(-9, 10, 6) * 60.0**STEPS


def for_qsgd(rank, step):
    """Of length 32; four times each entry over it is a multiple of an eighth."""
    random = np.random.default_rng([rank, step])
    x = np.repeat([16.0, 8.0, 4.0, 2.0, 1.0], [2, 4, 8, 16, 64])
    return random.permutation(x) * random.choice([-1, 1], len(x))


class AsTheProductDraws:
    """The random numbers of the product, which draws float32."""

    def __init__(self, rank):
        self.generator = np.random.default_rng(SEED + rank)

    def random(self, size):
        return self.generator.random(size, np.float32)


# By name: the vectors of a rank and step; the plain average, of a communicator, a vector and a
# memory of this rank; that memory in the beginning; and the product.
WAYS = {
    "top_k_error_feedback": (
        for_top_k,
        lambda comm, x, memory: top_k_error_feedback.average(comm, x, memory, 4),
        lambda rank: np.zeros(37),
        Feedback(TopK(4 / 37)),
    ),
    "one_bit": (
        for_one_bit,
        one_bit.average,
        lambda rank: np.zeros(6),
        Feedback(OneBit(bucket=6)),
    ),
    "qsgd": (
        for_qsgd,
        lambda comm, x, memory: qsgd.average(comm, x, LEVELS, memory),
        AsTheProductDraws,
        QSGD(LEVELS, bucket=94),
    ),
}


def plainly(comm, name):
    vectors, average, memory_of, _ = WAYS[name]
    memory = memory_of(comm.rank)
    return averages(comm, vectors, lambda x: average(comm, x, memory))


def by_the_product(comm, name):
    vectors, *_, form = WAYS[name]
    return averages(comm, vectors, gathered(comm, form, len(vectors(0, 0)), SEED))


def averages(comm, vectors, average):
    found = []
    for step in range(STEPS):
        found.append(vectors(comm.rank, step))
        average(found[-1])
    return np.array(found)


@cache
def product(ranks, name):
    return simulate(by_the_product, ranks, name=name).results


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.sampled(3)
def test_it_averages_as_its_product(run, ranks, name):
    results = run(plainly, name=name).results
    for plain, expected in zip(results, product(ranks, name), strict=True):
        assert_close(plain, expected)
    assert len({plain.tobytes() for plain in results}) == 1  # the same bits on all ranks


# -- laws -----------------------------------------------------------------------------------

WITH_FEEDBACK = {
    "top_k_error_feedback": WAYS["top_k_error_feedback"][1],
    "one_bit": one_bit.average,
}


def with_residual(comm, name):
    """All that was given, sent and kept on this rank; and the last average."""
    residual, given, received = np.zeros(37), np.zeros(37), np.zeros(37)
    for step in range(STEPS):
        x = vector(100 * comm.rank + step)
        given += x
        WITH_FEEDBACK[name](comm, x, residual)
        received += x
    return given, received, residual


@pytest.mark.parametrize("name", WITH_FEEDBACK)
@pytest.mark.sampled(3)
def test_what_was_received_and_what_is_kept_is_all_that_was_given(run, name):
    given, received, residuals = zip(*run(with_residual, name=name).results, strict=True)
    assert_close(received[0] + np.mean(residuals, axis=0), np.mean(given, axis=0))
    assert np.abs(residuals).max() > 0.1  # something is kept


class Constant:
    """Draws this number for every entry."""

    def __init__(self, number):
        self.number = number

    def random(self, size):
        return np.full(size, self.number)


def test_the_expectation_of_qsgd_is_the_vector():
    """Levels are multiples of an eighth, so eight numbers are as good as all between 0 and 1."""
    x = for_qsgd(0, 0)

    def rounded(comm, number):
        found = x.copy()
        qsgd.average(comm, found, LEVELS, Constant(number))
        return found

    each = [simulate(rounded, 1, number=eighth / 8).results[0] for eighth in range(8)]
    assert_close(np.mean(each, axis=0), x)
    assert np.ptp(each, axis=0).max() > 1  # one draw alone is not


@pytest.mark.parametrize("seed", range(5))
def test_the_error_of_qsgd_keeps_to_its_bound_on_average(seed):
    x, random = vector(seed), np.random.default_rng(seed)

    def squared_error(comm):
        found = x.copy()
        qsgd.average(comm, found, LEVELS, random)
        return (found - x) @ (found - x)

    errors = [simulate(squared_error, 1).results[0] for _ in range(50)]
    assert 0 < np.mean(errors) <= min(37 / LEVELS**2, 37**0.5 / LEVELS) * (x @ x)


def test_qsgd_of_nothing_is_nothing():
    def zeros(comm):
        x = np.zeros(5)
        qsgd.average(comm, x, LEVELS, np.random.default_rng(0))
        return x

    assert_close(simulate(zeros, 2).results, np.zeros((2, 5)))
