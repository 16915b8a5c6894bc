import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import LATENCIES, OPTIONAL_COST, PER_BYTE, RANKS, SEVERAL_RANKS, SIZES, close

from ddl_teach.theory.bounds import (
    PORT_VOLUME,
    bandwidth_bound,
    combining_bound,
    latency_bound,
    lower_bound,
)

OPERATIONS = st.sampled_from(sorted(PORT_VOLUME))


@given(OPERATIONS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST)
def test_one_rank_needs_nothing(operation, nbytes, latency, per_byte, reduced):
    assert lower_bound(operation, 1, nbytes, latency, per_byte, per_byte_reduced=reduced) == 0


@given(OPERATIONS, RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, st.booleans())
def test_the_whole_is_no_less_than_its_parts(
    operation, ranks, nbytes, latency, per_byte, reduced, stepwise
):
    whole = lower_bound(
        operation, ranks, nbytes, latency, per_byte, per_byte_reduced=reduced, stepwise=stepwise
    )
    parts = (
        latency_bound(operation, ranks, latency, stepwise=stepwise),
        bandwidth_bound(operation, ranks, nbytes, per_byte),
        combining_bound(operation, ranks, nbytes, reduced),
    )
    assert max(parts) <= whole <= sum(parts) * (1 + 1e-12)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_bytes_by_counting_messages(ranks):
    """P ranks share the bytes of a best possible algorithm: count them block by block."""
    summed, spread, blocks = ranks - 1, ranks - 1, ranks
    per_rank = {
        "allreduce": blocks * (summed + spread) / ranks,
        "reduce_scatter": blocks * summed / ranks,
        "allgather": blocks * spread / ranks,
    }
    for operation, moved in per_rank.items():
        assert close(bandwidth_bound(operation, ranks, blocks, 1.0), moved)
    assert bandwidth_bound("broadcast", ranks, blocks, 1.0) == blocks
    assert bandwidth_bound("barrier", ranks, 0, 1.0) == 0


@given(SEVERAL_RANKS, LATENCIES)
def test_stepwise_what_is_known_doubles(ranks, latency):
    steps = latency_bound("allreduce", ranks, latency, stepwise=True) / latency
    assert 2 ** (round(steps) - 1) < ranks <= 2 ** round(steps)
    assert latency_bound("allreduce", ranks, latency) == latency


@given(OPERATIONS, st.integers(2, 1000), st.floats(1, 1e9), LATENCIES, PER_BYTE, st.booleans())
def test_more_ranks_never_need_less(operation, ranks, nbytes, latency, per_byte, stepwise):
    bounds = [
        lower_bound(operation, count, nbytes, latency, per_byte, stepwise=stepwise)
        for count in (ranks, ranks + 1)
    ]
    assert bounds[0] <= bounds[1] * (1 + 1e-12)


def test_only_sums_need_combining():
    needing = {name for name in PORT_VOLUME if combining_bound(name, 4, 1000, 1.0) > 0}
    assert needing == {"allreduce", "reduce_scatter", "reduce", "scan"}
    assert combining_bound("allreduce", 4, 1000, 1.0) == 750


def test_arrays_of_sizes_give_arrays_of_times():
    sizes = np.array([0, 10, 10**6])
    bounds = lower_bound("allreduce", 5, sizes, 1e-6, 1e-9, per_byte_reduced=1e-8)
    singles = [lower_bound("allreduce", 5, n, 1e-6, 1e-9, per_byte_reduced=1e-8) for n in sizes]
    assert bounds == pytest.approx(singles, rel=1e-12)


def test_an_unknown_operation_is_told_the_known_ones():
    for bound in (
        lambda name: latency_bound(name, 2, 1.0),
        lambda name: bandwidth_bound(name, 2, 1, 1.0),
        lambda name: combining_bound(name, 2, 1, 1.0),
        lambda name: lower_bound(name, 2, 1, 1.0, 1.0),
    ):
        with pytest.raises(ValueError, match=r"'all_reduce'.*allreduce, reduce_scatter"):
            bound("all_reduce")


def test_inputs_that_cannot_be_are_named():
    with pytest.raises(ValueError, match="ranks must be at least 1, not 0"):
        lower_bound("scan", 0, 1, 1.0, 1.0)
    with pytest.raises(ValueError, match="latency must be a finite number"):
        latency_bound("scan", 2, math.nan)
