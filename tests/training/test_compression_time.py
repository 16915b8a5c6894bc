"""When compression pays: the formula, simulated ranks, and what a delay does to real ones."""

import math

import numpy as np
import pytest

from ddl_measure.experiments import compression as only_time
from ddl_measure.slow_links import SlowLinks
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.theory import compression
from ddl_teach.training.compression.averaging import averager
from ddl_teach.training.compression.one_bit import OneBit

BANDWIDTH, LATENCY, ENCODE, DECODE = 1e8, 1e-5, 4e-3, 3e-3
NETWORK = Uniform(LATENCY, BANDWIDTH)


@pytest.mark.parametrize("way", ["gathered", "owners"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8, 64])
def test_simulated_ranks_take_the_time_of_the_formula(ranks, way):
    message = ranks * 9_000
    packed = {"message": message, "encode": ENCODE, "decode": DECODE}
    run = simulate(getattr(only_time, way), ranks, network=NETWORK, trace=False, **packed)
    right = getattr(compression, way)(ranks, **packed)
    assert math.isclose(run.time, right.seconds(LATENCY, BANDWIDTH), rel_tol=1e-9)
    assert run.ledger[0].bytes_sent == round(right.bytes)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8, 64])
def test_a_simulated_dense_exchange_takes_the_time_of_the_formula(ranks):
    message = ranks * 9_000
    run = simulate(only_time.dense, ranks, network=NETWORK, nbytes=message, trace=False)
    assert math.isclose(run.time, compression.dense(ranks, message).seconds(LATENCY, BANDWIDTH),
                        rel_tol=1e-9, abs_tol=1e-12)  # fmt: skip


@pytest.mark.parametrize(
    ("factor", "wins"), [(0.5, True), (0.99, True), (1.01, False), (100, False)]
)
@pytest.mark.parametrize("way", ["summed", "gathered", "owners"])
def test_below_the_break_even_bandwidth_compression_wins_and_above_it_loses(way, factor, wins):
    plain = compression.dense(8, 4e6)
    packed = getattr(compression, way)(8, 1e5, ENCODE, DECODE)
    even = compression.break_even(plain, packed, LATENCY)
    times = [it.seconds(LATENCY, factor * even) for it in (packed, plain)]
    assert (times[0] < times[1]) is wins


def test_where_it_always_or_never_pays():
    plain = compression.dense(8, 4e6)
    assert compression.break_even(plain, compression.summed(8, 1e5, 0, 0)) == math.inf
    assert compression.break_even(plain, compression.gathered(8, 4e6, 0, 0)) == 0
    # Gathered messages save nothing any more when there are many of them.
    ways = [compression.gathered(ranks, 4e4, ENCODE, DECODE) for ranks in (8, 64, 512)]
    even = [compression.break_even(compression.dense(r, 4e6), way)
            for r, way in zip((8, 64, 512), ways, strict=True)]  # fmt: skip
    assert even[0] > even[1] > even[2] == 0
    with pytest.raises(ValueError, match="encode"):
        compression.owners(4, 10, -1, 0)


def test_slow_links_delay_what_is_exchanged_and_change_nothing_else(real):
    def program(comm, slow):
        stream = SlowLinks(comm, BANDWIDTH, LATENCY) if slow else comm
        x = np.arange(4000.0) + comm.rank
        begun = comm.now()
        ring.allreduce(stream, x)
        averager(stream, OneBit(), 4000, ring.allreduce)(x)
        return x, comm.now() - begun

    slowed, quick = (real(program, 4, slow=slow) for slow in (True, False))
    assert all(
        np.array_equal(a[0], b[0]) for a, b in zip(slowed.results, quick.results, strict=True)
    )
    assert [it.bytes_sent for it in slowed.ledger] == [it.bytes_sent for it in quick.ledger]
    # Only virtual time is the same twice: there the delay is what the network would add.
    added, none = (
        simulate(program, 4, slow=slow, network=Uniform(0, 1e300)).time for slow in (True, False)
    )
    part = OneBit().nbytes(1000)
    right = 12 * LATENCY + (6 * 8000 + 6 * part) / BANDWIDTH
    assert math.isclose(added - none, right, rel_tol=1e-9)


def test_slow_links_offer_nothing_that_would_be_fast():
    def program(comm):
        with pytest.raises(AttributeError, match="full speed"):
            SlowLinks(comm, 1e6).isend(np.ones(1), 0)
        with pytest.raises(ValueError, match="bytes a second"):
            SlowLinks(comm, 0)

    simulate(program, 1)
