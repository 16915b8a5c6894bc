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
    formula,
    leaders,
    linear,
    rabenseifner,
    recursive_doubling,
    ring,
    tree,
)

NAMES = st.sampled_from(sorted(ALGORITHMS))
IN_STEP = sorted(set(ALGORITHMS) - {"linear"})  # everybody takes the same step at the same time


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        # latency 1, 0.01 a byte, 1000 bytes: a message of all takes 11
        (1, {"linear": 0, "tree": 0, "ring": 0, "recursive_doubling": 0, "rabenseifner": 0}),
        (2, {"linear": 22, "tree": 22, "ring": 12, "recursive_doubling": 11, "rabenseifner": 12}),
        (4, {"linear": 62, "tree": 44, "ring": 21, "recursive_doubling": 22, "rabenseifner": 19}),
        (5, {"linear": 82, "tree": 66, "ring": 24, "recursive_doubling": 44, "rabenseifner": 41}),
        (8, {"linear": 142, "tree": 66, "ring": 31.5, "recursive_doubling": 33,
             "rabenseifner": 23.5}),
    ],
)  # fmt: skip
def test_by_hand(ranks, expected):
    times = {name: time(ranks, 1000, 1.0, 0.01) for name, time in ALGORITHMS.items()}
    assert times == pytest.approx(expected, rel=1e-12)


@given(NAMES, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)
def test_one_rank_costs_nothing(name, nbytes, latency, per_byte, reduced, overhead):
    costs = {"per_byte_reduced": reduced, "overhead": overhead}
    assert formula(name)(1, nbytes, latency, per_byte, **costs) == 0


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

    def time(n, latency, per_byte, reduced, overhead):
        return formula(name)(
            ranks, n, latency, per_byte, per_byte_reduced=reduced, overhead=overhead
        )

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
        return formula(name)(
            ranks,
            n * unit_of_size,
            latency * unit_of_time,
            per_byte * unit_of_time / unit_of_size,
            per_byte_reduced=reduced * unit_of_time / unit_of_size,
            overhead=overhead * unit_of_time,
        )

    assert math.isclose(time(nbytes, unit_of_time=factor), factor * time(nbytes), rel_tol=1e-9)
    assert math.isclose(time(nbytes, unit_of_size=factor), time(nbytes), rel_tol=1e-9)


@given(st.sampled_from(IN_STEP), RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST)
def test_in_step_an_overhead_is_a_longer_latency(name, ranks, nbytes, latency, per_byte, overhead):
    with_overhead = formula(name)(ranks, nbytes, latency, per_byte, overhead=overhead)
    assert close(with_overhead, formula(name)(ranks, nbytes, latency + 2 * overhead, per_byte))


@given(SEVERAL_RANKS, LATENCIES)
def test_without_bytes_only_latencies_are_left(ranks, latency):
    levels = math.ceil(math.log2(ranks))
    assert close(linear(ranks, 0, latency, 1e-9), 2 * latency)
    assert close(tree(ranks, 0, latency, 1e-9), 2 * levels * latency)
    assert close(ring(ranks, 0, latency, 1e-9), 2 * (ranks - 1) * latency)


@pytest.mark.parametrize("time", [recursive_doubling, rabenseifner])
@given(st.integers(3, 300), SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST)
def test_ranks_beyond_a_power_of_two_fold_in_and_out(
    time, ranks, nbytes, latency, per_byte, reduced
):
    power = 2 ** int(math.log2(ranks))
    message = latency + nbytes * per_byte
    fold = 0 if ranks == power else 2 * message + nbytes * reduced
    unfolded = time(power, nbytes, latency, per_byte, per_byte_reduced=reduced)
    folded = time(ranks, nbytes, latency, per_byte, per_byte_reduced=reduced)
    assert close(folded, unfolded + fold)


@given(NAMES, RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)
def test_a_hierarchy_of_one_level_is_that_level(
    name, ranks, nbytes, latency, per_byte, reduced, overhead
):
    costs = {"per_byte_reduced": reduced, "overhead": overhead}
    link, other = (latency, per_byte), (7 * latency, 3 * per_byte)
    one_node = leaders(1, ranks, nbytes, *link, *other, between=name, **costs)
    assert close(one_node, tree(ranks, nbytes, *link, **costs))
    lone_ranks = leaders(ranks, 1, nbytes, *other, *link, between=name, **costs)
    assert close(lone_ranks, formula(name)(ranks, nbytes, *link, **costs))


@given(SEVERAL_RANKS, st.floats(1e6, 1e9), LATENCIES)
def test_a_hierarchy_pays_off_where_the_network_between_nodes_is_slow(nodes, nbytes, latency):
    slow, fast = (latency, 1e-8), (latency / 1000, 1e-12)
    flat = ring(4 * nodes, nbytes, *slow)
    assert leaders(nodes, 4, nbytes, *fast, *slow) < flat
    assert leaders(nodes, 4, nbytes, *slow, *slow) > ring(nodes, nbytes, *slow)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_arrays_of_sizes_give_arrays_of_times(name, ranks):
    sizes = np.array([[0, 1, 1000], [10**6, 10**8, 10**9]])
    times = formula(name)(ranks, sizes, 1e-5, 1e-9, per_byte_reduced=2e-9, overhead=1e-6)
    assert times.shape == sizes.shape
    assert times.dtype == float
    for size, time in zip(sizes.flat, times.flat, strict=True):
        single = formula(name)(ranks, int(size), 1e-5, 1e-9, per_byte_reduced=2e-9, overhead=1e-6)
        assert type(single) is float
        assert close(single, time)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, 1, 1, 1), ValueError, "ranks must be at least 1, not 0"),
        ((2.5, 1, 1, 1), TypeError, "ranks is a count.*2.5"),
        ((True, 1, 1, 1), TypeError, "ranks is a count.*True"),
        ((2, -1, 1, 1), ValueError, "nbytes must be finite and 0 or more, but holds -1"),
        ((2, [1, math.nan], 1, 1), ValueError, "nbytes must be finite.*nan"),
        ((2, "many", 1, 1), TypeError, "nbytes is a number.*many"),
        ((2, 1, -1, 1), ValueError, "latency must be a finite number of seconds"),
        ((2, 1, 1, math.inf), ValueError, "per_byte must be.*1 / bandwidth"),
        ((2, 1, "1", 1), TypeError, "latency is one number"),
    ],
)
def test_an_input_that_cannot_be_is_named(name, arguments, error, words):
    with pytest.raises(error, match=words):
        formula(name)(*arguments)


@pytest.mark.parametrize("cost", ["per_byte_reduced", "overhead"])
def test_an_optional_cost_that_cannot_be_is_named(cost):
    for time in ALGORITHMS.values():
        with pytest.raises(ValueError, match=f"{cost} must be a finite number"):
            time(2, 1, 1, 1, **{cost: -1.0})


def test_a_hierarchy_names_what_cannot_be():
    with pytest.raises(ValueError, match="nodes must be at least 1, not 0"):
        leaders(0, 2, 1, 1, 1, 1, 1)
    with pytest.raises(TypeError, match=r"ranks_per_node is a count.*1\.5"):
        leaders(2, 1.5, 1, 1, 1, 1, 1)
    with pytest.raises(ValueError, match="per_byte_between must be a finite number"):
        leaders(2, 2, 1, 1, 1, 1, -1.0)
    with pytest.raises(ValueError, match="no formula for 'star'"):
        leaders(2, 2, 1, 1, 1, 1, 1, between="star")


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
    case = ranks, nbytes, latency, per_byte, reduced, overhead
    apart = formula(names[0], "reduce_scatter")(*case) + formula(names[1], "allgather")(*case)
    assert close(apart, formula(names[0])(*case))


@pytest.mark.parametrize("name", ["linear", "tree"])
@given(RANKS, SIZES, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)
def test_an_allreduce_is_a_reduce_and_a_broadcast(
    name, ranks, nbytes, latency, per_byte, reduced, overhead
):
    case = ranks, nbytes, latency, per_byte, reduced, overhead
    assert close(formula(name, "reduce")(*case) + formula(name, "broadcast")(*case),
                 formula(name)(*case))  # fmt: skip


@given(st.integers(4, 300), SIZES, LATENCIES, PER_BYTE)
def test_bruck_trades_bytes_for_latencies(ranks, nbytes, latency, per_byte):
    bruck, pairwise = formula("bruck", "alltoall"), formula("pairwise", "alltoall")
    assert bruck(ranks, 0, latency, per_byte) < pairwise(ranks, 0, latency, per_byte)
    large = nbytes + 1e6 * latency / per_byte
    assert bruck(ranks, large, latency, per_byte) > pairwise(ranks, large, latency, per_byte)


@pytest.mark.parametrize("names", sorted(FOR_POWERS))
@pytest.mark.parametrize("ranks", [3, 5, 12, 1000])
def test_powers_of_two_only(names, ranks):
    with pytest.raises(ValueError, match=f"powers of two; {ranks} ranks are none. Try"):
        FORMULAS[names](ranks, 1, 1, 1)


@pytest.mark.parametrize("names", OTHERS)
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_every_collective_takes_arrays_of_sizes(names, ranks):
    sizes = np.array([0, 1, 1000, 10**9])
    times = FORMULAS[names](ranks, sizes, 1e-5, 1e-9, overhead=1e-6)
    singles = [FORMULAS[names](ranks, int(size), 1e-5, 1e-9, overhead=1e-6) for size in sizes]
    assert {type(single) for single in singles} == {float}
    assert times == pytest.approx(singles, rel=1e-12)
    assert (times == 0).all() == (ranks == 1)


@pytest.mark.parametrize("names", OTHERS)
def test_every_collective_names_an_input_that_cannot_be(names):
    with pytest.raises(TypeError, match=r"ranks is a count.*4\.0"):
        FORMULAS[names](4.0, 1, 1, 1)
    with pytest.raises(ValueError, match="overhead must be a finite number"):
        FORMULAS[names](3, 1, 1, 1, overhead=math.nan)


def test_an_unknown_algorithm_of_another_collective_is_told_the_known_ones():
    with pytest.raises(ValueError, match=r"no formula for 'ring'; broadcast.*linear, tree"):
        formula("ring", "broadcast")
