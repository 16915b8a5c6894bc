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
    close,
)

from ddl_teach.theory.collectives import (
    ALGORITHMS,
    FORMULAS,
    double_binary_tree,
    formula,
    leaders,
    linear,
    rabenseifner,
    recursive_doubling,
    ring,
    tree,
)
from ddl_teach.theory.machine import Cluster, Link

NAMES = st.sampled_from(sorted(ALGORITHMS))
IN_STEP = sorted(set(ALGORITHMS) - {"linear", "recursive_doubling"})  # all take each step at once


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        # latency 1, 0.01 a byte, 1000 bytes: a message of all takes 11
        (1, {"linear": 0, "tree": 0, "ring": 0, "recursive_doubling": 0, "rabenseifner": 0}),
        (2, {"linear": 22, "tree": 22, "ring": 12, "recursive_doubling": 11, "rabenseifner": 12}),
        (4, {"linear": 62, "tree": 44, "ring": 21, "recursive_doubling": 22, "rabenseifner": 19}),
        (5, {"linear": 82, "tree": 66, "ring": 24, "recursive_doubling": 42, "rabenseifner": 41}),
        (8, {"linear": 142, "tree": 66, "ring": 31.5, "recursive_doubling": 33,
             "rabenseifner": 23.5}),
    ],
)  # fmt: skip
def test_by_hand(ranks, expected):
    times = {name: time(ranks, 1000, Link(1.0, 0.01)) for name, time in ALGORITHMS.items()}
    assert times == pytest.approx(expected, rel=1e-12)


def test_each_collective_of_four_ranks_by_hand():
    """Latency 1, overhead 0.5 at each end, 1000 bytes in 10, and 2 to combine them."""
    times = {
        ".".join(names): time(4, 1000, Link(1.0, 0.01, 0.002, 0.5))
        for names, time in FORMULAS.items()
        if names[0] not in ALGORITHMS or names[1] != "allreduce"
    }
    assert times == pytest.approx(
        {
            "linear.broadcast": 1.5 + 3 * 10.5, "linear.reduce": 14 + 2 * 10,
            "linear.gather": 4.5 + 2 * 2.5, "linear.scatter": 1.5 + 3 * 3, "linear.scan": 3 * 14,
            "tree.broadcast": 2 * 12, "tree.reduce": 2 * 14, "tree.gather": 4.5 + 7,
            "tree.scatter": 4.5 + 7, "ring.reduce_scatter": 3 * 5, "ring.allgather": 3 * 4.5,
            "rabenseifner.reduce_scatter": 5 + 8, "recursive_doubling.allgather": 4.5 + 7,
            "recursive_doubling.scan": 2 * 14, "bruck.allgather": 4.5 + 7,
            "bruck.alltoall": 2 * 2 + 4 * 2.5, "pat.reduce_scatter": 5 + 8,
            "pat.allgather": 4.5 + 7, "direct.reduce_scatter": 9.5 + 3 * 0.5,
            "direct.allgather": 4.5 + 2 * 2.5, "direct.allreduce": 11 + 9.5,
            "one_shot.allreduce": 12 + 2 * 10 + 3 * 2, "pairwise.alltoall": 3 * 4.5,
            "dissemination.barrier": 2 * 2,
        },
        rel=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ranks", "chunks", "expected"), [(1, 4, 0), (2, 4, 2 * 4.5 + 20), (5, 1, 6 * 12 + 20)]
)
def test_two_trees_by_hand(ranks, chunks, expected):
    """Latency 1, overhead 0.5 at each end, 1000 bytes in 10: two messages a level, then all."""
    seconds = double_binary_tree(ranks, 1000, Link(1.0, 0.01, overhead=0.5), chunks)
    assert seconds == pytest.approx(expected)
    if chunks == 1:
        assert double_binary_tree(ranks, 1000, Link(1.0, 0.01, overhead=0.5)) == seconds


@given(NAMES, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)
def test_one_rank_costs_nothing(name, nbytes, latency, per_byte, reduced, overhead):
    assert formula(name)(1, nbytes, Link(latency, per_byte, reduced, overhead)) == 0


@given(
    NAMES,
    SEVERAL_RANKS,
    SIZES,
    LATENCIES,
    PER_BYTE,
    OPTIONAL_COST,
    OPTIONAL_COST,
    st.integers(0, 4),
)
def test_more_of_anything_takes_longer(
    name, ranks, nbytes, latency, per_byte, reduced, overhead, which
):
    arguments = [nbytes, latency, per_byte, reduced, overhead]

    def time(n, *costs):
        return formula(name)(ranks, n, Link(*costs))

    before = time(*arguments)
    arguments[which] = arguments[which] * 2 + (1 if which == 0 else 1e-6)
    after = time(*arguments)
    if nbytes == 0 and which in (2, 3):
        assert after == before  # a rate times no bytes
    else:
        assert after > before


@given(NAMES, RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST, st.floats(0.1, 10))
def test_units_do_not_matter(name, ranks, nbytes, latency, per_byte, reduced, overhead, factor):
    def time(n, unit_of_time=1.0, unit_of_size=1.0):
        link = Link(
            latency * unit_of_time,
            per_byte * unit_of_time / unit_of_size,
            reduced * unit_of_time / unit_of_size,
            overhead * unit_of_time,
        )
        return formula(name)(ranks, n * unit_of_size, link)

    assert math.isclose(time(nbytes, unit_of_time=factor), factor * time(nbytes), rel_tol=1e-9)
    assert math.isclose(time(nbytes, unit_of_size=factor), time(nbytes), rel_tol=1e-9)


@given(st.sampled_from(IN_STEP), RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST)
def test_in_step_an_overhead_is_a_longer_latency(name, ranks, nbytes, latency, per_byte, overhead):
    with_overhead = formula(name)(ranks, nbytes, Link(latency, per_byte, overhead=overhead))
    longer = Link(latency + 2 * overhead, per_byte)
    assert close(with_overhead, formula(name)(ranks, nbytes, longer))


@given(SEVERAL_RANKS, LATENCIES)
def test_without_bytes_only_latencies_are_left(ranks, latency):
    levels, link = math.ceil(math.log2(ranks)), Link(latency, 1e-9)
    assert close(linear(ranks, 0, link), 2 * latency)
    assert close(tree(ranks, 0, link), 2 * levels * latency)
    assert close(ring(ranks, 0, link), 2 * (ranks - 1) * latency)


@given(st.integers(3, 300), SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST)
def test_ranks_beyond_a_power_of_two_fold_in_and_out(ranks, nbytes, latency, per_byte, reduced):
    power = 2 ** int(math.log2(ranks))
    message = latency + nbytes * per_byte
    fold = 0 if ranks == power else 2 * message + nbytes * reduced
    link = Link(latency, per_byte, reduced)
    expected = rabenseifner(power, nbytes, link) + fold
    assert close(rabenseifner(ranks, nbytes, link), expected)
    doubled = recursive_doubling(ranks, nbytes, link)
    most = recursive_doubling(power, nbytes, link) + fold
    if ranks == power or 2 * ranks > 3 * power:
        assert close(doubled, most)
    else:  # some ranks never wait for a latency
        assert doubled < most or not latency


@given(NAMES, RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)
def test_a_hierarchy_of_one_level_is_that_level(
    name, ranks, nbytes, latency, per_byte, reduced, overhead
):
    link = Link(latency, per_byte, reduced, overhead)
    other = Link(7 * latency, 3 * per_byte, reduced, overhead)
    one_node = leaders(Cluster(1, ranks, inside=link, between=other), nbytes, name)
    assert close(one_node, tree(ranks, nbytes, link))
    lone_ranks = leaders(Cluster(ranks, 1, inside=other, between=link), nbytes, name)
    assert close(lone_ranks, formula(name)(ranks, nbytes, link))


@given(SEVERAL_RANKS, st.floats(1e6, 1e9), LATENCIES)
def test_a_hierarchy_pays_off_where_the_network_between_nodes_is_slow(nodes, nbytes, latency):
    slow, fast = Link(latency, 1e-8), Link(latency / 1000, 1e-12)
    flat = ring(4 * nodes, nbytes, slow)
    assert leaders(Cluster(nodes, 4, inside=fast, between=slow), nbytes) < flat
    alike = Cluster(nodes, 4, inside=slow, between=slow)
    assert leaders(alike, nbytes) > ring(nodes, nbytes, slow)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_arrays_of_sizes_give_arrays_of_times(name, ranks):
    sizes = np.array([[0, 1, 1000], [10**6, 10**8, 10**9]])
    link = Link(1e-5, 1e-9, 2e-9, 1e-6)
    times = formula(name)(ranks, sizes, link)
    assert times.shape == sizes.shape
    assert times.dtype == float
    for size, time in zip(sizes.flat, times.flat, strict=True):
        single = formula(name)(ranks, int(size), link)
        assert type(single) is float
        assert close(single, time)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, 1), ValueError, "ranks must be at least 1, not 0"),
        ((2.5, 1), TypeError, "ranks must be a whole number.*2.5"),
        ((True, 1), TypeError, "ranks must be a whole number.*True"),
        ((2, -1), ValueError, "nbytes must be finite and 0 or more, but holds -1"),
        ((2, [1, math.nan]), ValueError, "nbytes must be finite.*nan"),
        ((2, "many"), TypeError, "nbytes is a number.*many"),
    ],
)
def test_an_input_that_cannot_be_is_named(name, arguments, error, words):
    with pytest.raises(error, match=words):
        formula(name)(*arguments, Link(1, 1))


def test_a_hierarchy_names_what_has_no_formula():
    with pytest.raises(ValueError, match="no formula for 'star'"):
        leaders(Cluster(2, 2), 1, "star")


def test_an_unknown_algorithm_is_told_the_known_ones():
    with pytest.raises(ValueError, match=r"'ringg'.*linear, tree, ring"):
        formula("ringg")


OTHERS = sorted(set(FORMULAS) - {(name, "allreduce") for name in ALGORITHMS})
FOR_POWERS = {("rabenseifner", "reduce_scatter"), ("recursive_doubling", "allgather")}


@pytest.mark.parametrize("names", [("ring", "ring"), ("rabenseifner", "recursive_doubling")])
@given(POWERS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)
def test_an_allreduce_is_a_reduce_scatter_and_an_allgather(
    names, ranks, nbytes, latency, per_byte, reduced, overhead
):
    case = ranks, nbytes, Link(latency, per_byte, reduced, overhead)
    apart = formula(names[0], "reduce_scatter")(*case) + formula(names[1], "allgather")(*case)
    assert close(apart, formula(names[0])(*case))


@pytest.mark.parametrize("name", ["linear", "tree"])
@given(RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)
def test_an_allreduce_is_a_reduce_and_a_broadcast(
    name, ranks, nbytes, latency, per_byte, reduced, overhead
):
    case = ranks, nbytes, Link(latency, per_byte, reduced, overhead)
    assert close(formula(name, "reduce")(*case) + formula(name, "broadcast")(*case),
                 formula(name)(*case))  # fmt: skip


@given(st.integers(4, 300), SIZES, LATENCIES, PER_BYTE)
def test_bruck_trades_bytes_for_latencies(ranks, nbytes, latency, per_byte):
    bruck, pairwise = formula("bruck", "alltoall"), formula("pairwise", "alltoall")
    link, large = Link(latency, per_byte), nbytes + 1e6 * latency / per_byte
    assert bruck(ranks, 0, link) < pairwise(ranks, 0, link)
    assert bruck(ranks, large, link) > pairwise(ranks, large, link)


@pytest.mark.parametrize("names", sorted(FOR_POWERS))
@pytest.mark.parametrize("ranks", [3, 5, 12, 1000])
def test_powers_of_two_only(names, ranks):
    with pytest.raises(
        ValueError, match=f"power of two as the number of ranks; {ranks} is none. Try"
    ):
        FORMULAS[names](ranks, 1, Link(1, 1))


@pytest.mark.parametrize("names", OTHERS)
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_every_collective_takes_arrays_of_sizes(names, ranks):
    sizes = np.array([0, 1, 1000, 10**9])
    link = Link(1e-5, 1e-9, overhead=1e-6)
    times = FORMULAS[names](ranks, sizes, link)
    singles = [FORMULAS[names](ranks, int(size), link) for size in sizes]
    assert {type(single) for single in singles} == {float}
    assert times == pytest.approx(singles, rel=1e-12)
    assert (times == 0).all() == (ranks == 1)


@pytest.mark.parametrize("names", OTHERS)
def test_every_collective_names_an_input_that_cannot_be(names):
    with pytest.raises(TypeError, match=r"ranks must be a whole number.*4\.0"):
        FORMULAS[names](4.0, 1, Link(1, 1))


def test_an_unknown_algorithm_of_another_collective_is_told_the_known_ones():
    with pytest.raises(ValueError, match=r"no formula for 'ring'; broadcast.*linear, tree"):
        formula("ring", "broadcast")
