"""Flows that start, share links and end: fair at all times, and what follows for their ends."""

import random
from math import inf

import pytest
from fairness import CLOSE, assert_max_min_fair, networks
from hypothesis import given
from hypothesis import strategies as st

from ddl_runtime.topologies import max_min_flows as flows_module
from ddl_runtime.topologies.max_min_flows import Flows


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


def test_a_flow_alone_has_its_narrowest_link_until_another_comes_and_again_when_that_has_gone():
    """12 bytes at 3 a second from 0, at 2 from 1 to 3 while a guest takes half of a link of 4."""
    flows = Flows([3.0, 2.0, 4.0])
    flows.start("long", (0, 2), 12, 0.0)
    flows.start("apart", (1,), 2, 0.0)
    assert flows.rates() == [("long", 3.0), ("apart", 2.0)]
    assert flows.next_time() == 1.0
    assert flows.advance(1.0) == ["apart"]
    flows.start("guest", (1, 2), 4, 1.0)
    assert flows.rates() == [("long", 2.0), ("guest", 2.0)]
    assert flows.next_time() == 3.0
    assert flows.advance(3.0) == ["guest"]
    assert flows.rates() == [("long", 3.0)]
    assert flows.next_time() == pytest.approx(3.0 + 5 / 3)
