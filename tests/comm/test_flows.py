"""Flows that share links: the laws of max-min fairness, and what follows for times."""

import random
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddl_teach.comm import flows as flows_module
from ddl_teach.comm.flows import Flows, max_min_rates

CLOSE = 1e-9


@st.composite
def networks(draw, most_flows=14):
    """A few links, a few paths over them."""
    capacities = draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    links = st.integers(0, len(capacities) - 1)
    path = st.lists(links, min_size=1, max_size=4, unique=True).map(tuple)
    return capacities, draw(st.lists(path, min_size=1, max_size=most_flows))


def rates_of(capacities, paths):
    """All flows at once, as columns of a matrix."""
    longest = max(map(len, paths))
    padded = [path + (len(capacities),) * (longest - len(path)) for path in paths]
    rates, bottlenecks = max_min_rates(np.array(padded).T, np.array([*capacities, inf]))
    return rates.tolist(), bottlenecks.tolist()


def assert_max_min_fair(capacities, paths, rates):
    """No link above its capacity, and for every flow a full link on which none is faster."""
    load = [0.0] * len(capacities)
    fastest = [0.0] * len(capacities)
    for path, rate in zip(paths, rates, strict=True):
        for link in path:
            load[link] += rate
            fastest[link] = max(fastest[link], rate)
    for link, capacity in enumerate(capacities):
        assert load[link] <= capacity * (1 + CLOSE), f"link {link} is overloaded"
    for path, rate in zip(paths, rates, strict=True):
        assert any(
            load[link] >= capacities[link] * (1 - CLOSE) and fastest[link] <= rate * (1 + CLOSE)
            for link in path
        ), f"the flow over {path} has no bottleneck: {rates}"


def brute_force_rates(capacities, paths):
    """By the definition alone: raise the lowest rate as far as any rates are feasible at all, fix
    the flows that cannot have more, and go on with the others."""

    def feasible(rates):
        load = [0.0] * len(capacities)
        for path, rate in zip(paths, rates, strict=True):
            for link in path:
                load[link] += rate
        return all(used <= limit + 1e-9 for used, limit in zip(load, capacities, strict=True))

    fixed = {}
    while len(fixed) < len(paths):
        low, high = 0.0, float(max(capacities))
        for _ in range(60):
            middle = (low + high) / 2
            if feasible([fixed.get(flow, middle) for flow in range(len(paths))]):
                low = middle
            else:
                high = middle
        level = [fixed.get(flow, low) for flow in range(len(paths))]
        for flow in set(range(len(paths))) - fixed.keys():
            if not feasible([*level[:flow], low + 1e-6, *level[flow + 1 :]]):
                fixed[flow] = low
    return [fixed[flow] for flow in range(len(paths))]


def run(capacities, starts, check=False):
    """Times of the ends of flows given as (time, name, path, bytes), and the bytes that flowed."""
    flows = Flows(capacities)
    path_of = {name: path for _, name, path, _ in starts}
    waiting = sorted(starts, key=lambda start: start[0])
    ends, flowed, now = {}, dict.fromkeys(path_of, 0.0), 0.0
    while waiting or len(flows):
        rates = flows.rates()
        if check and rates:
            paths = [path_of[name] for name, _ in rates]
            assert_max_min_fair(capacities, paths, [rate for _, rate in rates])
        due = flows.next_time()
        if waiting and (due is None or waiting[0][0] < due):
            due = waiting[0][0]
        for name, rate in rates:
            flowed[name] += rate * (due - now)
        now = due
        for name in flows.advance(now):
            ends[name] = now
        while waiting and waiting[0][0] == now:
            _, name, path, nbytes = waiting.pop(0)
            flows.start(name, path, nbytes, now)
    return ends, flowed


# -- fair rates -----------------------------------------------------------------------------


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


# -- times ----------------------------------------------------------------------------------


@st.composite
def histories(draw):
    """A network, and flows that start one after another or together."""
    capacities, paths = draw(networks())
    starts = [
        (float(draw(st.integers(0, 6))), name, path, draw(st.integers(0, 20)))
        for name, path in enumerate(paths)
    ]
    return capacities, starts


@pytest.mark.parametrize("few", [0, 16], ids=["all anew", "only what moves"])
@given(history=histories())
def test_rates_stay_fair_and_bytes_are_conserved(few, history):
    capacities, starts = history
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows_module, "FEW", few)
        ends, flowed = run(capacities, starts, check=True)
    for start, name, path, nbytes in starts:
        assert flowed[name] == pytest.approx(nbytes, abs=1e-6)
        assert ends[name] >= start + nbytes / min(capacities[link] for link in path) - CLOSE


@given(histories())
def test_repairing_and_starting_anew_give_the_same_times(history):
    capacities, starts = history
    times = []
    for few in (0, 16):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flows_module, "FEW", few)
            times.append(run(capacities, starts)[0])
    assert times[0] == pytest.approx(times[1], rel=CLOSE)


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_starts_at_one_time_changes_no_bit_of_the_ends(history, shuffler):
    capacities, starts = history
    ends, _ = run(capacities, starts)
    shuffler.shuffle(starts)
    assert run(capacities, starts)[0] == ends


def random_history(seed, flows=150):
    """More flows than a repair takes, so that both ways of finding rates take turns."""
    dice = random.Random(seed)
    capacities = [dice.uniform(1.0, 10.0) for _ in range(40)]
    starts = [
        (dice.choice([0.0, dice.random()]), name, tuple(dice.sample(range(40), 4)), dice.random())
        for name in range(flows)
    ]
    return capacities, starts


def test_many_random_flows_stay_fair():
    capacities, starts = random_history(seed=1)
    ends, flowed = run(capacities, starts, check=True)
    for _, name, _, nbytes in starts:
        assert flowed[name] == pytest.approx(nbytes)
    assert len(ends) == len(starts)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_many_random_flows_changes_no_bit(seed):
    capacities, starts = random_history(seed)
    ends, _ = run(capacities, starts)
    shuffled = random.Random(seed).sample(starts, len(starts))
    assert run(capacities, shuffled)[0] == ends


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 100])
def test_flows_over_one_link_take_their_number_of_times_as_long(count):
    ends, _ = run([8.0], [(0.0, name, (0,), 16) for name in range(count)])
    assert list(ends.values()) == [pytest.approx(2.0 * count)] * count
    assert len(set(ends.values())) == 1, "they end together, to the bit"


def test_an_undisturbed_flow_ends_at_start_plus_bytes_over_bandwidth_to_the_bit():
    flows = Flows([3e9, 7e9, 5e9, 5e9])
    flows.start("alone", (0, 1), 1e6, 0.1)
    for number in range(20):
        flows.start(number, (2, 3), 1e3, 0.1)
    ends = {}
    while (due := flows.next_time()) is not None:
        ends.update(dict.fromkeys(flows.advance(due), due))
    assert ends["alone"] == 0.1 + 1e6 / 3e9


def test_who_starts_later_finds_less_left_and_leaves_more():
    """Two flows of 10 bytes on a link of 1, the second 4 s later: 4 + 2 * 6 = 16, and 4 more."""
    ends, _ = run([1.0], [(0.0, "first", (0,), 10), (4.0, "second", (0,), 10)])
    assert ends == {"first": pytest.approx(16.0), "second": pytest.approx(20.0)}


def test_flows_that_end_at_one_time_come_back_in_the_order_of_their_start():
    flows = Flows([1.0, 1.0, 1.0])
    for name in ("c", "a", "b"):
        flows.start(name, ({"a": 0, "b": 1, "c": 2}[name],), 1, 0.0)
    assert flows.next_time() == 1.0
    assert flows.advance(0.5) == []
    assert flows.advance(1.0) == ["c", "a", "b"]
    assert flows.next_time() is None
    assert len(flows) == 0


@pytest.mark.parametrize(
    ("path", "nbytes"),
    [((0,), 0), ((), 5), ((1,), 5)],
    ids=["no bytes", "no links", "an endless link"],
)
def test_what_nothing_holds_back_ends_at_once_and_slows_nobody(path, nbytes):
    flows = Flows([2.0, inf])
    flows.start("other", (0, 1), 8, 0.0)
    flows.start("instant", path, nbytes, 1.0)
    assert len(flows) == 2
    assert flows.next_time() == 1.0
    assert flows.advance(1.0) == ["instant"]
    assert flows.next_time() == 4.0


# -- mistakes -------------------------------------------------------------------------------


def test_a_link_without_capacity_is_refused():
    with pytest.raises(ValueError, match="capacity above zero"):
        Flows([1.0, 0.0])


@pytest.mark.parametrize(
    ("path", "nbytes", "message"),
    [
        ((2,), 1, r"links are 0\.\.1"),
        ((-1,), 1, r"links are 0\.\.1"),
        ((0, 0), 1, "a link twice"),
        ((0,), -1, "not a size"),
        ((0,), inf, "not a size"),
    ],
)
def test_impossible_flows_are_refused(path, nbytes, message):
    with pytest.raises(ValueError, match=message):
        Flows([1.0, 1.0]).start("flow", path, nbytes, 0.0)


def test_time_neither_goes_back_nor_leaps_over_an_end():
    flows = Flows([1.0])
    flows.start("flow", (0,), 4, 1.0)
    with pytest.raises(ValueError, match="is over"):
        flows.start("late", (0,), 4, 0.5)
    with pytest.raises(ValueError, match=r"a flow ends at 5\.0"):
        flows.advance(6.0)
