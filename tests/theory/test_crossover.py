import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from laws import LATENCIES, OPTIONAL_COST, PER_BYTE, RANKS, SEVERAL_RANKS, close

from ddl_teach.theory.collectives import ALGORITHMS, formula
from ddl_teach.theory.crossover import crossing, crossovers, winner_map
from ddl_teach.theory.machine import Link

PAIRS = st.sampled_from(list(itertools.permutations(ALGORITHMS, 2)))
LINKS = st.builds(Link, LATENCIES, PER_BYTE, OPTIONAL_COST, OPTIONAL_COST)


@given(PAIRS, RANKS, LINKS)
def test_the_curves_cross_where_we_say_and_nowhere_else(pair, ranks, link):
    def lead(nbytes):
        first, second = (formula(f)(ranks, nbytes, link) for f in pair)
        return 0 if math.isclose(first, second, rel_tol=1e-9) else np.sign(first - second)

    found = crossovers(*pair, ranks, link)
    for change in found:
        times = [formula(f)(ranks, change.nbytes, link) for f in pair]
        assert math.isclose(*times, rel_tol=1e-9)
    edges = [0.0, *(change.nbytes for change in found), math.inf]
    for begin, end in itertools.pairwise(edges):
        between = np.geomspace(max(begin * 1.01, 1e-3), min(end / 1.01, 1e6 * max(begin, 1e9)), 40)
        signs = {lead(size) for size in between if begin < size < end} - {0}
        assert len(signs) <= 1
    for change in found:
        assert lead(change.nbytes * 0.99) * lead(change.nbytes * 1.01) <= 0


@given(PAIRS, RANKS, LINKS)
def test_the_order_of_the_question_does_not_matter(pair, ranks, link):
    asked = crossovers(*pair, ranks, link)
    swapped = crossovers(*reversed(pair), ranks, link)
    assert [(c.below, c.above) for c in asked] == [(c.below, c.above) for c in swapped]
    for one, other in zip(asked, swapped, strict=True):
        assert close(one.nbytes, other.nbytes)


def test_by_hand():
    # 8 ranks: 3 (L + n G) against 14 (L + n/8 G), equal at 11 L = 1.25 n G
    (change,) = crossovers("ring", "recursive_doubling", 8, Link(1e-5, 1e-9))
    assert (change.below, change.above) == ("recursive_doubling", "ring")
    assert close(change.nbytes, 11 * 1e-5 / 1.25e-9)


@pytest.mark.parametrize(("smallest", "largest"), [(50, 1000), (1, 50), (1, 1000)])
def test_times_may_be_equal_at_an_end_of_the_range(smallest, largest):
    assert crossing(lambda n: 3 + n, lambda n: 53.0, smallest, largest) == pytest.approx(50)
    with pytest.raises(ValueError, match="a wider range"):
        crossing(lambda n: 3 + n, lambda n: 53.0, 51, 1000)


def test_algorithms_that_cost_the_same_never_cross():
    assert crossovers("ring", "rabenseifner", 2, Link(1e-5, 1e-9)) == ()
    assert crossovers("linear", "tree", 1, Link(1e-5, 1e-9)) == ()


def test_the_bend_of_linear_is_part_of_its_curve():
    """Above the bend the root's port sets the pace and the line rises more steeply."""
    link = Link(1e-5, 1e-9, overhead=3e-6)
    (change,) = crossovers("linear", "tree", 16, link)
    straight = crossovers("linear", "tree", 16, Link(1e-5, 1e-9))
    assert change.nbytes != pytest.approx(straight[0].nbytes)
    times = [formula(f)(16, change.nbytes, link) for f in ("linear", "tree")]
    assert close(*times)


@given(
    st.sampled_from(list(itertools.permutations(ALGORITHMS, 2))),
    SEVERAL_RANKS,
    LATENCIES,
    PER_BYTE,
)
def test_bisection_finds_what_the_formula_says(pair, ranks, latency, per_byte):
    link = Link(latency, per_byte)
    found = crossovers(*pair, ranks, link)
    assume(found)
    size = found[0].nbytes
    first, second = (lambda n, f=f: formula(f)(ranks, n, link) for f in pair)
    assert math.isclose(crossing(first, second, size / 50, size * 3000), size, rel_tol=1e-9)


def test_bisection_of_curves_without_a_formula():
    measured = np.array([1.0, 10.0, 100.0, 1000.0]), np.array([1.0, 2.0, 9.0, 80.0])
    size = crossing(lambda n: np.interp(n, *measured), lambda n: 5 + 0.01 * n, 1, 1000)
    assert float(np.interp(size, *measured)) == pytest.approx(5 + 0.01 * size, rel=1e-9)


def test_bisection_refuses_a_range_without_a_change():
    with pytest.raises(ValueError, match=r"at 1 bytes and at 10 bytes: .* a wider range"):
        crossing(lambda n: n, lambda n: n + 1, 1, 10)
    with pytest.raises(ValueError, match="0 < smallest < largest"):
        crossing(lambda n: n, lambda n: 2, 10, 1)


@pytest.mark.parametrize("size", [0, 1e3, 1e5, 1e8])
@pytest.mark.parametrize("count", [2, 3, 16, 1000])
def test_the_map_names_the_shortest_time(count, size):
    times = {name: time(count, size, Link(1e-5, 1e-9)) for name, time in ALGORITHMS.items()}
    [[name]] = winner_map([count], [size], Link(1e-5, 1e-9))
    assert times[name] <= min(times.values()) * (1 + 1e-11)


def test_the_map_has_a_row_for_each_count_and_several_winners():
    names = winner_map([2, 3, 16, 1000], [0, 1e3, 1e5, 1e8], Link(1e-5, 1e-9))
    assert names.shape == (4, 4)
    assert len(set(names.flat)) >= 3


def test_only_the_named_algorithms_compete():
    assert winner_map([8], [1e6], Link(1e-5, 1e-9)) == "rabenseifner"
    assert winner_map([8], [1e6], Link(1e-5, 1e-9), algorithms=("linear", "tree")) == "tree"
    with pytest.raises(ValueError, match=r"'butterfly'.*linear, tree"):
        crossovers("butterfly", "ring", 8, Link(1e-5, 1e-9))
