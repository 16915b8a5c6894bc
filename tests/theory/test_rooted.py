import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import (
    LATENCIES,
    OPTIONAL_COST,
    PER_BYTE,
    POWERS,
    RANKS,
    SEVERAL_RANKS,
    SIZES,
    at_least,
    close,
)

from ddl_teach.theory import bounds, rooted
from ddl_teach.theory.collectives import linear, tree

PATTERNS = {
    f"{operation}_{shape}": getattr(rooted, f"{operation}_{shape}")
    for operation in ("broadcast", "reduce", "gather", "scatter")
    for shape in ("linear", "tree")
}
NAMES = st.sampled_from(sorted(PATTERNS))


@given(NAMES, RANKS, SIZES, LATENCIES, PER_BYTE)
def test_never_below_what_can_be_proven(name, ranks, nbytes, latency, per_byte):
    operation, shape = name.split("_")
    least = bounds.lower_bound(
        operation, ranks, nbytes, latency, per_byte, stepwise=shape == "tree"
    )
    assert at_least(PATTERNS[name](ranks, nbytes, latency, per_byte), least)


@pytest.mark.parametrize("operation", ["gather", "scatter"])
@given(RANKS, SIZES, LATENCIES, PER_BYTE)
def test_linear_gather_and_scatter_cannot_be_beaten(operation, ranks, nbytes, latency, per_byte):
    least = bounds.lower_bound(operation, ranks, nbytes, latency, per_byte)
    assert close(PATTERNS[f"{operation}_linear"](ranks, nbytes, latency, per_byte), least)


@pytest.mark.parametrize(
    ("shape", "whole"), [("linear", linear), ("tree", tree)], ids=["linear", "tree"]
)
@given(RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)
def test_an_allreduce_is_a_reduce_and_a_broadcast(
    shape, whole, ranks, nbytes, latency, per_byte, reduced, overhead
):
    inwards = PATTERNS[f"reduce_{shape}"](
        ranks, nbytes, latency, per_byte, per_byte_reduced=reduced, overhead=overhead
    )
    outwards = PATTERNS[f"broadcast_{shape}"](ranks, nbytes, latency, per_byte, overhead=overhead)
    together = whole(ranks, nbytes, latency, per_byte, per_byte_reduced=reduced, overhead=overhead)
    assert close(inwards + outwards, together)


@given(POWERS, st.floats(1, 1e9), LATENCIES, PER_BYTE)
def test_a_tree_of_gathered_pieces_moves_each_byte_into_the_root_once(
    ranks, nbytes, latency, per_byte
):
    into_root = sum(2**level * nbytes / ranks for level in range(int(math.log2(ranks))))
    assert close(
        rooted.gather_tree(ranks, nbytes, latency, per_byte),
        math.log2(ranks) * latency + into_root * per_byte,
    )


@given(SEVERAL_RANKS, st.floats(1, 1e9), LATENCIES, PER_BYTE, PER_BYTE)
def test_the_slower_of_port_and_processor_sets_the_pace_of_a_linear_reduce(
    ranks, nbytes, latency, per_byte, reduced
):
    time = rooted.reduce_linear(ranks, nbytes, latency, per_byte, per_byte_reduced=reduced)
    slower = (ranks - 1) * nbytes * max(per_byte, reduced)
    both = (ranks - 1) * nbytes * (per_byte + reduced)
    assert at_least(time, latency + slower)
    assert at_least(latency + both, time)


@given(st.integers(3, 300), st.floats(1, 1e9), LATENCIES, PER_BYTE)
def test_a_tree_broadcast_overtakes_linear_when_vectors_are_large(
    ranks, nbytes, latency, per_byte
):
    fewer_bytes = math.ceil(math.log2(ranks)) < ranks - 1
    at_a_large_size = 1e6 * (nbytes + latency / per_byte)
    arguments = (ranks, at_a_large_size, latency, per_byte)
    assert (rooted.broadcast_tree(*arguments) < rooted.broadcast_linear(*arguments)) == fewer_bytes
    assert rooted.broadcast_linear(ranks, 0, latency, per_byte) < rooted.broadcast_tree(
        ranks, 0, latency, per_byte
    )


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_arrays_of_sizes_give_arrays_of_times(name, ranks):
    sizes = np.array([0, 1, 1000, 10**9])
    times = PATTERNS[name](ranks, sizes, 1e-5, 1e-9, overhead=1e-6)
    singles = [PATTERNS[name](ranks, int(size), 1e-5, 1e-9, overhead=1e-6) for size in sizes]
    assert {type(single) for single in singles} == {float}
    assert times == pytest.approx(singles, rel=1e-12)
    assert (times == 0).all() == (ranks == 1)


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_an_input_that_cannot_be_is_named(name):
    with pytest.raises(ValueError, match="ranks must be at least 1, not -3"):
        PATTERNS[name](-3, 1, 1, 1)
    with pytest.raises(ValueError, match="overhead must be a finite number"):
        PATTERNS[name](3, 1, 1, 1, overhead=math.nan)
