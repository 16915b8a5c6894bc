import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import LATENCIES, OPTIONAL_COST, PER_BYTE, POWERS, SIZES, at_least, close

from ddl_teach.theory.bounds import PORT_VOLUME, bus_bandwidth, lower_bound
from ddl_teach.theory.collectives import FORMULAS
from ddl_teach.theory.machine import Link

OPERATIONS = st.sampled_from(sorted(PORT_VOLUME))


@pytest.mark.parametrize("names", sorted(FORMULAS), ids=".".join)
@given(POWERS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST)
@pytest.mark.sampled(6)
def test_no_collective_is_below_what_can_be_proven(
    names, ranks, nbytes, latency, per_byte, reduced
):
    algorithm, operation = names
    case = ranks, nbytes, Link(latency, per_byte, reduced)
    at_once = algorithm in ("linear", "direct", "one_shot")  # not one message after another
    least = lower_bound(operation, *case, stepwise=not at_once)
    assert at_least(FORMULAS[names](*case), least)


@pytest.mark.parametrize("operation", ["gather", "scatter"])
@given(POWERS, SIZES, LATENCIES, PER_BYTE)
def test_linear_gather_and_scatter_cannot_be_beaten(operation, ranks, nbytes, latency, per_byte):
    case = ranks, nbytes, Link(latency, per_byte)
    assert close(FORMULAS["linear", operation](*case), lower_bound(operation, *case))


@pytest.mark.parametrize("algorithm", ["ring", "rabenseifner"])
@given(POWERS, SIZES, PER_BYTE)
def test_without_latency_the_bandwidth_bound_is_met(algorithm, ranks, nbytes, per_byte):
    case = ranks, nbytes, Link(0.0, per_byte)
    assert close(FORMULAS[algorithm, "allreduce"](*case), lower_bound("allreduce", *case))


@given(OPERATIONS, st.integers(2, 1000), st.floats(1, 1e9), LATENCIES, PER_BYTE, st.booleans())
def test_more_ranks_never_need_less(operation, ranks, nbytes, latency, per_byte, stepwise):
    bounds = [
        lower_bound(operation, count, nbytes, Link(latency, per_byte), stepwise=stepwise)
        for count in (ranks, ranks + 1)
    ]
    assert bounds[0] <= bounds[1] * (1 + 1e-12)


def test_four_ranks_by_hand():
    """Latency 1, 1000 bytes in 10; to combine two vectors takes nothing, or 40."""
    free, dear = (
        {name: lower_bound(name, 4, 1000, Link(1.0, 0.01, each)) for name in PORT_VOLUME}
        for each in (0.0, 0.04)
    )
    a_share = dict.fromkeys(("reduce_scatter", "allgather", "alltoall", "gather", "scatter"), 8.5)
    whole = dict.fromkeys(("broadcast", "reduce", "scan"), 11.0)
    assert free == {"allreduce": 16.0, **a_share, **whole, "barrier": 1.0}
    combining = dict.fromkeys(("allreduce", "reduce_scatter", "reduce", "scan"), 31.0)
    assert dear == free | combining
    assert lower_bound("barrier", 5, 1000, Link(1.0, 0.01), stepwise=True) == 3
    assert {lower_bound(name, 1, 1000, Link(1.0, 0.01)) for name in PORT_VOLUME} == {0.0}


def test_only_sums_need_combining():
    needing = {name for name in PORT_VOLUME if lower_bound(name, 4, 1000, Link(0, 0, 1)) > 0}
    assert needing == {"allreduce", "reduce_scatter", "reduce", "scan"}


def test_arrays_of_sizes_give_arrays_of_times():
    sizes = np.array([0, 10, 10**6])
    link = Link(1e-6, 1e-9, 1e-8)
    singles = [lower_bound("allreduce", 5, n, link) for n in sizes]
    bounds = lower_bound("allreduce", 5, sizes, link)
    assert bounds == pytest.approx(singles, rel=1e-12)


def test_what_cannot_be_is_named():
    with pytest.raises(ValueError, match=r"'all_reduce'.*allreduce, reduce_scatter"):
        lower_bound("all_reduce", 2, 1, Link(1.0, 1.0))
    with pytest.raises(ValueError, match="ranks must be at least 1, not 0"):
        lower_bound("scan", 0, 1, Link(1.0, 1.0))


# The factors that nccl-tests states in doc/PERFORMANCE.md.
@pytest.mark.parametrize(
    ("operation", "factor"),
    [
        ("allreduce", lambda n: 2 * (n - 1) / n),
        ("reduce_scatter", lambda n: (n - 1) / n),
        ("allgather", lambda n: (n - 1) / n),
        ("alltoall", lambda n: (n - 1) / n),
        ("broadcast", lambda n: 1),
        ("reduce", lambda n: 1),
    ],
)
@pytest.mark.parametrize("ranks", [2, 3, 8, 512])
def test_bus_bandwidth_is_what_nccl_tests_prints(operation, factor, ranks):
    found = bus_bandwidth(operation, ranks, 102e6, 0.25)
    assert close(found, factor(ranks) * 102e6 / 0.25)


def test_a_ring_of_long_vectors_has_the_bus_bandwidth_of_its_links():
    seconds = FORMULAS["ring", "allreduce"](64, 1e12, Link(1e-6, 1e-10))
    assert bus_bandwidth("allreduce", 64, 1e12, seconds) == pytest.approx(1e10, rel=1e-4)
