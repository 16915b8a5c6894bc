import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import LATENCIES, OPTIONAL_COST, PER_BYTE, POWERS, RANKS, SIZES, at_least, close

from ddl_teach.theory import bounds, symmetric
from ddl_teach.theory.collectives import rabenseifner, ring

OPERATIONS = {
    "reduce_scatter_ring": "reduce_scatter",
    "reduce_scatter_recursive_halving": "reduce_scatter",
    "allgather_ring": "allgather",
    "allgather_recursive_doubling": "allgather",
    "allgather_bruck": "allgather",
    "alltoall_pairwise": "alltoall",
    "alltoall_bruck": "alltoall",
    "scan_linear": "scan",
    "scan_recursive_doubling": "scan",
}
PATTERNS = {name: getattr(symmetric, name) for name in OPERATIONS}
FOR_POWERS = ("reduce_scatter_recursive_halving", "allgather_recursive_doubling")
FOR_ANY = sorted(set(PATTERNS) - set(FOR_POWERS))
BANDWIDTH_OPTIMAL = [
    name for name in PATTERNS if name != "alltoall_bruck" and not name.startswith("scan")
]


@given(st.sampled_from(FOR_ANY), RANKS, SIZES, LATENCIES, PER_BYTE)
def test_never_below_what_can_be_proven(name, ranks, nbytes, latency, per_byte):
    least = bounds.lower_bound(OPERATIONS[name], ranks, nbytes, latency, per_byte, stepwise=True)
    assert at_least(PATTERNS[name](ranks, nbytes, latency, per_byte), least)


@given(st.sampled_from(BANDWIDTH_OPTIMAL), POWERS, SIZES, PER_BYTE)
def test_without_latency_the_bandwidth_bound_is_met(name, ranks, nbytes, per_byte):
    least = bounds.bandwidth_bound(OPERATIONS[name], ranks, nbytes, per_byte)
    assert close(PATTERNS[name](ranks, nbytes, 0, per_byte), least)


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("reduce_scatter_ring", "allgather_ring", ring),
        ("reduce_scatter_recursive_halving", "allgather_recursive_doubling", rabenseifner),
    ],
    ids=["ring", "rabenseifner"],
)
@given(POWERS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)
def test_an_allreduce_is_a_reduce_scatter_and_an_allgather(
    first, second, whole, ranks, nbytes, latency, per_byte, reduced, overhead
):
    apart = PATTERNS[first](
        ranks, nbytes, latency, per_byte, per_byte_reduced=reduced, overhead=overhead
    ) + PATTERNS[second](ranks, nbytes, latency, per_byte, overhead=overhead)
    together = whole(ranks, nbytes, latency, per_byte, per_byte_reduced=reduced, overhead=overhead)
    assert close(apart, together)


@given(POWERS, SIZES, LATENCIES, PER_BYTE)
def test_bruck_sends_half_of_all_blocks_in_each_step(ranks, nbytes, latency, per_byte):
    steps = math.log2(ranks)
    expected = steps * (latency + nbytes / 2 * per_byte)
    assert close(symmetric.alltoall_bruck(ranks, nbytes, latency, per_byte), expected)


@given(st.integers(4, 300), SIZES, LATENCIES, PER_BYTE)
def test_bruck_trades_bytes_for_latencies(ranks, nbytes, latency, per_byte):
    bruck, pairwise = symmetric.alltoall_bruck, symmetric.alltoall_pairwise
    assert bruck(ranks, 0, latency, per_byte) < pairwise(ranks, 0, latency, per_byte)
    large = nbytes + 1e6 * latency / per_byte
    assert bruck(ranks, large, latency, per_byte) > pairwise(ranks, large, latency, per_byte)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_on_few_ranks_every_block_needs_its_own_message(ranks):
    times = [
        time(ranks, 1e6, 1e-5, 1e-9)
        for time in (symmetric.alltoall_bruck, symmetric.alltoall_pairwise)
    ]
    assert close(*times)


@given(st.sampled_from(FOR_ANY), RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST)
def test_an_overhead_is_a_longer_latency(name, ranks, nbytes, latency, per_byte, overhead):
    with_overhead = PATTERNS[name](ranks, nbytes, latency, per_byte, overhead=overhead)
    longer = PATTERNS[name](ranks, nbytes, latency + 2 * overhead, per_byte)
    assert close(with_overhead, longer)


@given(RANKS, LATENCIES, OPTIONAL_COST)
def test_a_barrier_cannot_be_faster_step_by_step(ranks, latency, overhead):
    time = symmetric.barrier_dissemination(ranks, latency, overhead=overhead)
    least = bounds.latency_bound("barrier", ranks, latency + 2 * overhead, stepwise=True)
    assert close(time, least)


@pytest.mark.parametrize("name", FOR_POWERS)
@pytest.mark.parametrize("ranks", [3, 5, 12, 1000])
def test_powers_of_two_only(name, ranks):
    with pytest.raises(ValueError, match=f"powers of two; {ranks} ranks are none. Try"):
        PATTERNS[name](ranks, 1, 1, 1)


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_arrays_of_sizes_give_arrays_of_times(name, ranks):
    sizes = np.array([0, 1, 1000, 10**9])
    times = PATTERNS[name](ranks, sizes, 1e-5, 1e-9, overhead=1e-6)
    singles = [PATTERNS[name](ranks, int(size), 1e-5, 1e-9, overhead=1e-6) for size in sizes]
    assert {type(single) for single in singles} == {float}
    assert times == pytest.approx(singles, rel=1e-12)
    assert (times == 0).all() == (ranks == 1)


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_an_input_that_cannot_be_is_named(name):
    with pytest.raises(TypeError, match=r"ranks is a count.*4\.0"):
        PATTERNS[name](4.0, 1, 1, 1)
    with pytest.raises(ValueError, match="nbytes must be finite"):
        PATTERNS[name](4, math.inf, 1, 1)


def test_a_barrier_without_latency_or_with_a_wrong_one():
    assert symmetric.barrier_dissemination(7, 0.0) == 0
    with pytest.raises(ValueError, match="latency must be a finite number"):
        symmetric.barrier_dissemination(7, -1.0)
