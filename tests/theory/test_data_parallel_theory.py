"""The time of buckets: laws, and what simulated ranks take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddl_runtime.core.communicator import BACKGROUND_SLOTS
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import ring
from ddl_teach.networks.data_parallel.phantoms import asleep, backward_pass
from ddl_teach.theory import collectives, data_parallel
from ddl_teach.theory.machine import Link

NETWORK = Uniform(latency=2e-6, bandwidth=1e9)
SIZES = [4000, 12000, 8000, 400, 40000, 4000]  # bytes, in the order in which they are ready
SECONDS = [2e-5, 6e-5, 4e-5, 1e-6, 2e-4, 2e-5]
SIZE_LISTS = st.lists(st.integers(0, 100), min_size=1, max_size=20)


@given(SIZE_LISTS, st.integers(1, 200))
def test_every_gradient_is_in_one_bucket_and_no_two_buckets_could_be_one(sizes, limit):
    groups = data_parallel.bucket_groups(sizes, limit)
    assert [index for group in groups for index in group] == list(range(len(sizes)))
    held = [sum(sizes[index] for index in group) for group in groups]
    assert all(size <= limit or len(group) == 1 for size, group in zip(held, groups, strict=True))
    for size, after in zip(held, groups[1:], strict=False):
        assert size + sizes[after[0]] > limit


@given(SIZE_LISTS, st.integers(1, 200))
def test_last_first_is_the_mirror_image(sizes, limit):
    mirrored = data_parallel.bucket_groups(sizes[::-1], limit)
    last = len(sizes) - 1
    assert [[last - index for index in group] for group in mirrored] == (
        data_parallel.last_first(sizes, limit)
    )


def all_have_met(comm):
    """Ranks meet at their first background calls; after this they have."""
    for _ in range(BACKGROUND_SLOTS):
        comm.background(lambda place: None).wait()
    comm.barrier()
    return comm.now()


def one_after_the_other(comm, limit):
    """A pass whose buckets travel behind it, each when the one before has come."""

    def send(place, buckets):
        for ready, nbytes in buckets:
            place.work(seconds=max(0.0, begun + ready - place.now()))
            ring.allreduce(place, Phantom(nbytes))

    buckets, over = [], 0.0
    for group in data_parallel.bucket_groups(SIZES, limit):
        over += sum(SECONDS[index] for index in group)
        buckets.append((over, sum(SIZES[index] for index in group)))
    begun = all_have_met(comm)
    sending = comm.background(send, buckets)
    comm.work(seconds=over)
    sending.wait()
    return comm.now() - begun


def at_once(comm, limit):
    """A pass whose buckets leave when they are full, whatever else is under way."""
    begun = all_have_met(comm)
    backward_pass(comm, limit, SECONDS, SIZES)
    return comm.now() - begun


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("limit", [1, 13000, 30000, 1e9])
def test_simulated_ranks_take_that_time(ranks, limit):
    def takes(nbytes):
        return collectives.ring(ranks, nbytes, Link.of(NETWORK))

    predicted = data_parallel.step_time(SECONDS, SIZES, limit, takes)
    run = simulate(one_after_the_other, ranks, network=NETWORK, limit=limit)
    assert max(run.results) == pytest.approx(predicted)
    # Several under way at once share latencies: never longer.
    together = simulate(at_once, ranks, network=NETWORK, limit=limit)
    assert max(together.results) <= predicted * (1 + 1e-9)
    late = data_parallel.step_time(SECONDS, SIZES, limit, takes, overlapped=False)
    assert max(sum(SECONDS), predicted) <= late
    elements = [
        sum(SIZES[index] for index in group) for group in data_parallel.bucket_groups(SIZES, limit)
    ]
    for rank, ledger in enumerate(run.ledger):
        assert ledger.bytes_sent == data_parallel.bytes_sent(elements, ranks, rank, 1)
        sent = [message for message in ledger.messages if message.kind == "host"]
        assert len(sent) == 2 * (ranks - 1) * len(elements)


def test_both_ends_lose():
    times = [
        data_parallel.step_time(SECONDS, SIZES, limit, lambda n: 4e-5 + n * 2e-9)
        for limit in (1, 45000, 1e9)
    ]
    assert times[1] < times[0]
    assert times[1] < times[2]


def buckets_as_large_as(comm, x, real):
    if real:
        asleep(comm, x, SECONDS, SIZES)
    else:
        backward_pass(comm, x.nbytes, SECONDS, SIZES)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_real_arrays_take_the_time_and_the_bytes_of_phantoms(ranks):
    given = {"x": np.zeros(16_000, np.uint8), "network": NETWORK}
    true, phantom = (
        simulate(buckets_as_large_as, ranks, real=real, **given) for real in (True, False)
    )
    assert true.time == pytest.approx(phantom.time)
    assert true.time >= sum(SECONDS)
    sent = [[rank.bytes_sent for rank in run.ledger] for run in (true, phantom)]
    assert sent[0] == sent[1]
    assert sum(sent[0]) == 2 * (ranks - 1) * sum(SIZES)
