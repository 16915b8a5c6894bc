"""The rates that flows get: the laws of max-min fairness."""

import random
from math import inf

import numpy as np
import pytest
from fairness import assert_max_min_fair, brute_force_rates, networks
from hypothesis import given
from hypothesis import strategies as st

from ddl_runtime.topologies.max_min_flows import max_min_rates


def rates_of(capacities, paths):
    """All flows at once, as columns of a matrix."""
    longest = max(map(len, paths))
    padded = [path + (len(capacities),) * (longest - len(path)) for path in paths]
    rates, bottlenecks = max_min_rates(np.array(padded).T, np.array([*capacities, inf]))
    return rates.tolist(), bottlenecks.tolist()


@given(networks())
def test_every_flow_has_a_bottleneck(network):
    capacities, paths = network
    rates, bottlenecks = rates_of(capacities, paths)
    assert_max_min_fair(capacities, paths, rates)
    for path, bottleneck in zip(paths, bottlenecks, strict=True):
        assert bottleneck in path


@given(networks(most_flows=7))
def test_rates_are_those_of_the_definition(network):
    capacities, paths = network
    assert rates_of(capacities, paths)[0] == pytest.approx(
        brute_force_rates(capacities, paths), abs=1e-5
    )


@given(networks(), st.randoms(use_true_random=False))
def test_the_order_of_the_flows_changes_no_bit(network, shuffler):
    capacities, paths = network
    order = list(range(len(paths)))
    shuffler.shuffle(order)
    rates, _ = rates_of(capacities, paths)
    shuffled, _ = rates_of(capacities, [paths[flow] for flow in order])
    assert shuffled == [rates[flow] for flow in order]


@pytest.mark.parametrize("seed", range(4))
def test_nor_does_it_where_rates_are_many(seed):
    dice = random.Random(seed)
    capacities = [dice.uniform(1.0, 10.0) for _ in range(30)]
    paths = [tuple(dice.sample(range(30), 4)) for _ in range(300)]
    order = dice.sample(range(300), 300)
    rates, _ = rates_of(capacities, paths)
    shuffled, _ = rates_of(capacities, [paths[flow] for flow in order])
    assert shuffled == [rates[flow] for flow in order]


@given(networks(), st.integers(-20, 20))
def test_twice_the_capacity_is_twice_the_rate(network, exponent):
    capacities, paths = network
    rates, _ = rates_of(capacities, paths)
    scaled, _ = rates_of([capacity * 2.0**exponent for capacity in capacities], paths)
    assert scaled == [rate * 2.0**exponent for rate in rates]


def test_one_long_flow_among_short_ones_leaves_room_on_the_wider_links():
    """Links of 1, 2 and 3, a flow over all and one on each: 1/2 for the long one."""
    rates, bottlenecks = rates_of([1, 2, 3], [(0, 1, 2), (0,), (1,), (2,)])
    assert rates == [0.5, 0.5, 1.5, 2.5]
    assert bottlenecks == [0, 0, 1, 2]


def test_a_few_flows_on_few_of_very_many_links():
    rates, bottlenecks = rates_of([4.0] * 10_000, [(7, 9_000), (9_000,)])
    assert rates == [2.0, 2.0]
    assert bottlenecks == [9_000, 9_000]
